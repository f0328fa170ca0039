"""Tunes PyTorch jobs while they train.

    model = DistributedDataParallel(model)          # or fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    job = hocket.torch.tune(model, optimizer)

docs/guides/pytorch.md says what is tuned and what is left alone.
"""

from hocket.torch.job import Job
from hocket.torch.news import on_progress
from hocket.torch.tuning import tune

__all__ = ["Job", "on_progress", "tune"]
