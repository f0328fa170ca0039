"""A rank that computes for longer is named by the daemon while the job trains."""

import json
import time
import unittest

from torch_daemon import daemon, hocket
from torch_loop import train_until
from torch_net import one_step
from torch_ranks import run_ranks

LATE_S = 0.01


def verdict():
    """Returns what the daemon says of the job; None before it knows it."""
    try:
        return json.loads(hocket("stragglers", "--job", "net", "--json"))
    except RuntimeError:
        return None


def blamed(found):
    return [rank["rank"] for rank in found["ranks"] if rank["pattern"] != "none"] if found else []


def with_a_late_rank(rank):
    """Until rank 1, whose forward passes take longer, is named."""
    def step_of(ddp, optimizer, step):
        # Time before a rank's forward pass is not its computation.
        hook = ddp.module.register_forward_pre_hook(lambda *_: time.sleep(LATE_S * rank))
        loss = one_step(ddp, optimizer, step)
        hook.remove()
        return loss

    found = []

    def is_named(job, lines, step):
        if rank == 0 and step % 50 == 49:
            found[:] = [verdict()]
        return rank > 0 or (bool(found) and blamed(found[0]) == [1])
    train_until(is_named, step_of=step_of)
    return found[0] if found else None


class StragglersTest(unittest.TestCase):
    def test_a_rank_that_computes_longer_is_named(self):
        with daemon() as served:
            found = run_ranks(with_a_late_rank, environment=served.environment)[0]
        self.assertEqual(blamed(found), [1], found)
        self.assertEqual(found["ranks"][1]["cause"], "computation", found)


if __name__ == "__main__":
    unittest.main()
