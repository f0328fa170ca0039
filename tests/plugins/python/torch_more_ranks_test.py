"""Jobs of more than two ranks. Sums of floats then depend on how the buckets are divided: where no
sum is rounded, values are those of plain DDP to the bit, and else close to them. They are equal on
all ranks in any case."""

import unittest

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_daemon import daemon
from torch_live_test import explored, pushed
from torch_net import plain
from torch_program import CAP_MB, LAYERS, WIDTH, Net, config
from torch_ranks import run_ranks

from hocket.torch.buckets import KNOB, Buckets
from hocket.torch.crossing import Crossing

STEPS = 10
CAPS = {0: 256 << 10, 4: 512 << 10, 6: 256 << 10}
COUNTS = (3, 4)


class Exact(torch.nn.Module):
    """Layers side by side. Their weights and gradients are small multiples of a power of two."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randint(-4, 5, parameter.shape, generator=generator))

    def forward(self, x):
        # Each after the one before it, so that crossing gains something.
        return sum(layer(x) * (i + 1) for i, layer in enumerate(self.layers))


def exact_loss(model, step):
    """Returns a loss whose gradients are integers that can be divided by the number of ranks."""
    generator = torch.Generator().manual_seed(1000 * dist.get_rank() + step)
    x = torch.randint(-2, 3, (2, WIDTH), generator=generator).float()
    weights = torch.randint(-2, 3, (2, WIDTH), generator=generator) * dist.get_world_size()
    return (model(x) * weights).sum()


def rounded_loss(model, step):
    generator = torch.Generator().manual_seed(1000 * dist.get_rank() + step)
    return model(torch.randn(4, WIDTH, generator=generator)).pow(2).mean()


def train(_, is_exact, way, settings=None):
    """Returns losses, parameters, and how many buckets were pending at most."""
    ddp = DistributedDataParallel(Exact() if is_exact else Net(), bucket_cap_mb=CAP_MB)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.25 if is_exact else 0.01)
    compute = exact_loss if is_exact else rounded_loss
    buckets = Buckets(ddp) if way == "buckets" else None
    crossing = Crossing(ddp, optimizer, settings) if way == "crossing" else None
    losses, most = [], 0
    for step in range(STEPS):
        if buckets and step in CAPS:
            buckets.apply({KNOB: CAPS[step]})
        optimizer.zero_grad()
        loss = compute(ddp, step)
        loss.backward()
        optimizer.step()
        most = max(most, len(crossing._pending) if crossing else 0)
        losses.append(loss.item())
    if crossing:
        crossing.close()
        if crossing.off_reason:
            raise AssertionError(crossing.off_reason)
    return losses, [p.detach().clone() for p in ddp.parameters()], most


SETTINGS = {f"{order}, parts of {size}": config(order, size, channels=2)
            for order, size in (("fifo", 32768), ("negotiated", 50000), ("static", 1 << 17))}
WAYS = {"buckets": ("buckets", None)} | {name: ("crossing", s) for name, s in SETTINGS.items()}


class MoreRanksTest(unittest.TestCase):
    def assert_equal_parameters(self, results, expected):
        for parameters in expected:
            for parameter, other in zip(results, parameters):
                self.assertTrue(torch.equal(parameter, other))

    def test_sums_that_are_not_rounded_are_equal_to_ddps(self):
        for count in COUNTS:
            plain_losses, plain_parameters, _ = zip(*run_ranks(train, True, "plain", count=count))
            self.assert_equal_parameters(plain_parameters[0], plain_parameters)
            for name, way in WAYS.items():
                with self.subTest(count=count, way=name):
                    losses, parameters, most = zip(*run_ranks(train, True, *way, count=count))
                    self.assertEqual(losses, plain_losses)
                    self.assert_equal_parameters(plain_parameters[0], parameters)
                    self.assertEqual(min(most) > 1, name != "buckets", most)

    def test_other_sums_are_equal_on_all_ranks_and_close_to_ddps(self):
        for count in COUNTS:
            plain_losses, plain_parameters, _ = zip(*run_ranks(train, False, "plain", count=count))
            for name, way in WAYS.items():
                with self.subTest(count=count, way=name):
                    losses, parameters, _ = zip(*run_ranks(train, False, *way, count=count))
                    self.assert_equal_parameters(parameters[0], parameters)
                    for found, expected in zip(parameters[0], plain_parameters[0]):
                        torch.testing.assert_close(found, expected)
                    for found, expected in zip(losses, plain_losses):
                        torch.testing.assert_close(torch.tensor(found), torch.tensor(expected))

    def test_parts_of_whole_buckets_are_summed_as_ddp_sums_them(self):
        for count in COUNTS:
            with self.subTest(count=count):
                expected = run_ranks(train, False, "plain", count=count)
                found = run_ranks(train, False, "crossing", config("negotiated", 1 << 20),
                                  count=count)
                for (losses, parameters, most), (others, other_parameters, _) in zip(found,
                                                                                    expected):
                    self.assertEqual(losses, others)
                    # On some processors single values differ in their last bit.
                    for parameter, other in zip(parameters, other_parameters):
                        torch.testing.assert_close(parameter, other, rtol=1e-6, atol=0)
                    self.assertGreater(most, 1)

    def test_all_ranks_change_at_the_same_steps(self):
        for function, arguments in ((pushed, ()), (explored, (True,))):
            with self.subTest(function.__name__), daemon() as served:
                results = run_ranks(function, *arguments, count=3, environment=served.environment)
                for _, values, *_ in results[1:]:
                    self.assertEqual(values, results[0][1])
                self.assertGreater(len({str(values) for values in results[0][1]}), 1)
                # The same model, though sums round in another order after a change.
                for (losses, *_), others in zip(results, run_ranks(plain, len(results[0][0]),
                                                                   count=3)):
                    self.assertEqual(losses[0], others[0])
                    self.assertLess(losses[-1], max(2 * others[-1], 0.1))


if __name__ == "__main__":
    unittest.main()
