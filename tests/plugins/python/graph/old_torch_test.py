"""hocket.graph says so where PyTorch is too old, and is imported without it."""

import subprocess
import sys
import unittest

import torch

import hocket.graph


class OldTorch(unittest.TestCase):
    def test_old_torch_is_refused(self):
        expected = ("hocket.graph needs torch.export of PyTorch 2.13 or newer, and this is PyTorch "
                    f"{torch.__version__}; pip install --upgrade torch")
        with self.assertRaises(hocket.graph.GraphError) as caught:
            hocket.graph.from_module(torch.nn.Linear(2, 2), (torch.zeros(2),))
        self.assertEqual(str(caught.exception), expected)
        with self.assertRaises(hocket.graph.GraphError) as caught:
            with hocket.graph.without_weights():
                pass
        self.assertEqual(str(caught.exception), expected)

    def test_torch_is_imported_when_it_is_needed(self):
        program = "import sys, hocket.graph; sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", program], check=False).returncode, 0)

    def test_no_torch(self):
        program = ("import sys; sys.modules['torch'] = None; import hocket.graph; "
                   "hocket.graph.from_module(None)")
        done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True,
                              text=True)
        self.assertIn("GraphError: hocket.graph needs PyTorch: pip install torch", done.stderr)


if __name__ == "__main__":
    print(torch.__version__)
    unittest.main(verbosity=2)
