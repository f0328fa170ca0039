"""hocket for PyTorch."""
