"""A model of some layers for tests, its batches, and a plain run of it."""

import importlib

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


def make_sharded(seed=0, reshard_after_forward=True, module="torch.distributed.fsdp"):
    """Returns a sharded model and its optimizer, with PyTorch 2.6 or newer. `module`: where the
    program imports fully_shard from."""
    fully_shard = importlib.import_module(module).fully_shard
    model = Net(seed)
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=reshard_after_forward)
    fully_shard(model)
    return model, optimizer_of(model)


def make_fsdp1(seed=0, use_orig_params=True, wrapped=LAYERS, **options):
    """Returns a model whose first layers are wrapped one by one, and its optimizer."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    model, device = Net(seed), torch.device("cpu")
    for i in range(wrapped):
        model.layers[i] = FullyShardedDataParallel(
            model.layers[i], device_id=device, use_orig_params=use_orig_params, **options)
    model = FullyShardedDataParallel(model, device_id=device, use_orig_params=use_orig_params,
                                     **options)
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
