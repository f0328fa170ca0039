"""A model of some layers for tests, its batches, and a plain run of it."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS = 128, 8  # 66,048 bytes of parameters in a layer: buckets of 256 KiB hold four
STEPS = 12


class Net(torch.nn.Module):
    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x)) + x
        return x


def batch(rank, step):
    return torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(1000 * rank + step))


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def make(seed=0):
    """Returns a wrapped model and its optimizer."""
    ddp = DistributedDataParallel(Net(seed))
    return ddp, optimizer_of(ddp)


def make_sharded(seed=0, reshard_after_forward=True):
    """Returns a sharded model and its optimizer, with PyTorch 2.6 or newer."""
    from torch.distributed.fsdp import fully_shard
    model = Net(seed)
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=reshard_after_forward)
    fully_shard(model)
    return model, optimizer_of(model)


def one_step(model, optimizer, step):
    """Returns the loss, by which runs are compared to the bit."""
    optimizer.zero_grad()
    loss = model(batch(dist.get_rank(), step)).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def plain(_, steps=STEPS, seed=0, make=make):
    """Returns the losses of a run without hocket."""
    model, optimizer = make(seed)
    return [one_step(model, optimizer, step) for step in range(steps)]


def all_agree(word):
    """Returns whether it holds on all ranks."""
    agreed = torch.tensor([int(word)])
    dist.all_reduce(agreed, op=dist.ReduceOp.MIN)
    return bool(agreed.item())
