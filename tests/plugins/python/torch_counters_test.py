"""What ranks count in their iterations, from DDP's own times."""

import unittest

import torch
from torch_net import make, one_step
from torch_ranks import run_ranks

from hocket.torch.counters import Counters


def counted(_):
    """Returns what is counted in each of some iterations, and after one without an all-reduce."""
    ddp, optimizer = make()
    counters, found = Counters(ddp), []
    for step in range(6):
        one_step(ddp, optimizer, step)
        found.append(counters.last())
    return found, counters.last(), Counters(ddp.module).last()


class CountersTest(unittest.TestCase):
    def test_every_iteration_of_each_rank_is_counted_once(self):
        for found, again, of_plain in run_ranks(counted):
            for waited, computed in found[1:]:  # the first one may be counted or not
                self.assertGreaterEqual(waited, 0)
                self.assertGreater(computed, 0)
            self.assertIsNone(again)
            self.assertIsNone(of_plain)

    def test_a_model_of_another_kind_counts_nothing(self):
        self.assertIsNone(Counters(torch.nn.Linear(2, 2)).last())


if __name__ == "__main__":
    unittest.main()
