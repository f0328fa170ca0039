"""Buckets of DistributedDataParallel, changed while it trains: training stays the same to the bit."""

import contextlib
import unittest

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import run_ranks

from hocket.torch.buckets import KNOB, Buckets
from hocket.torch.subject import LeftAlone

WIDTH, LAYERS, STEPS = 128, 8, 8  # a layer has 66,048 bytes of parameters
CAPS = [256 << 10, 512 << 10, 256 << 10, 1 << 20]


class Net(torch.nn.Module):
    """Layers of which the last may be left out, or be the first one's weights."""

    def __init__(self, kind):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.kind = kind
        if kind == "tied":
            self.layers[-1].weight = self.layers[0].weight

    def forward(self, x, leave_out=False):
        for layer in self.layers[:-1] if leave_out else self.layers:
            x = torch.tanh(layer(x)) + x
        return x


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(4, WIDTH, generator=generator)


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def one_step(ddp, optimizer, rank, step, kind):
    """Trains one step of this kind; returns its loss."""
    optimizer.zero_grad(**({"set_to_none": False} if kind == "kept_gradients" else {}))
    micro_batches = 3 if kind == "no_sync" else 1
    for i in range(micro_batches):
        with ddp.no_sync() if i + 1 < micro_batches else contextlib.nullcontext():
            x = batch(rank, 10 * step + i)
            autocast = (torch.autocast("cpu", dtype=torch.bfloat16) if kind == "autocast"
                        else contextlib.nullcontext())
            with autocast:
                # With unused parameters, the ranks leave out different ones at times.
                out = ddp(x, leave_out=kind == "unused" and (step + rank) % 3 == 0
                          or kind == "static_unused")
            loss = out.float().pow(2).mean()
            loss.backward()
    if kind == "clipping":
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), 0.1)
    optimizer.step()
    return loss.item()


def options_of(kind):
    return {"unused": {"find_unused_parameters": True}, "static": {"static_graph": True},
            "static_unused": {"static_graph": True},
            "view": {"gradient_as_bucket_view": True},
            "kept_gradients": {"gradient_as_bucket_view": True}}.get(kind, {})


def train(rank, kind, changes):
    """Returns losses, parameters, and the buckets' sizes after each step."""
    model = Net(kind)
    ddp = DistributedDataParallel(model, **options_of(kind))
    optimizer = optimizer_of(ddp)
    subject = Buckets(ddp)
    losses, sizes = [], []
    for step in range(STEPS):
        if step in changes:
            subject.apply({KNOB: changes[step]})
        losses.append(one_step(ddp, optimizer, rank, step, kind))
        sizes.append(subject.bucket_bytes())
    return losses, [p.detach().clone() for p in model.parameters()], sizes


class BucketsTest(unittest.TestCase):
    def compare(self, kind, changes):
        plain = run_ranks(train, kind, {})
        tuned = run_ranks(train, kind, changes)
        for (losses, parameters, _), (other_losses, others, _) in zip(plain, tuned):
            self.assertEqual(losses, other_losses)
            for parameter, other in zip(parameters, others):
                self.assertTrue(torch.equal(parameter, other))
        for parameter, other in zip(tuned[0][1], tuned[1][1]):
            self.assertTrue(torch.equal(parameter, other))
        return tuned[0][2]

    def test_training_stays_the_same_to_the_bit(self):
        for kind in ("plain", "no_sync", "unused", "static", "static_unused", "tied", "view",
                     "kept_gradients", "clipping", "autocast"):
            for changes in ({0: CAPS[0]}, {1: CAPS[0]}, {3: CAPS[0], 5: CAPS[1], 6: CAPS[3]},
                            {STEPS - 1: CAPS[0]}):
                with self.subTest(kind=kind, changes=changes):
                    self.compare(kind, changes)


if __name__ == "__main__":
    unittest.main()
