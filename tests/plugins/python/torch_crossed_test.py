"""Jobs tuned with schedule=True: buckets, schedule and crossing change while they train."""

import json
import unittest

import torch
from torch_daemon import daemon, hocket
from torch_loop import has_tried, train_until
from torch_net import STEPS, batch, make, plain
from torch_ranks import run_ranks

CAP, PARTITION = "bucket_cap_bytes", "partition_bytes"


def started(_):
    return train_until(lambda job, lines, step: step == STEPS, schedule=True)


def explored(rank):
    return train_until(has_tried(rank, 3), explore=0.5, schedule=True)


def pushed(rank):
    """Takes three versions, each once the one before is in force."""
    versions = [{"crossing": "off"}, {"crossing": "on", PARTITION: 131072},
                {CAP: 262144, PARTITION: 262144}]
    taken = []

    def done(job, lines, _):
        if rank == 0 and len(taken) < len(versions) and (
                not taken or all(job.values[name] == value for name, value in taken[-1].items())):
            taken.append(versions[len(taken)])
            settings = [f"job.{name}={value}" for name, value in taken[-1].items()]
            hocket("push", "net", *(word for text in settings for word in ("--set", text)))
            hocket("pin", "net", "--version", str(len(taken)))
        return all(job.values[name] == value for name, value in versions[-1].items())
    return train_until(done, schedule=True)


def clipped_step(ddp, optimizer, step):
    optimizer.zero_grad()
    loss = ddp(batch(torch.distributed.get_rank(), step)).pow(2).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(ddp.parameters(), 0.1)
    optimizer.step()
    return loss.item()


def clipped(rank):
    return train_until(has_tried(rank, 2), explore=0.5, schedule=True, step_of=clipped_step)


def plain_clipped(_, steps):
    ddp, optimizer = make()
    return [clipped_step(ddp, optimizer, step) for step in range(steps)]


class CrossedTest(unittest.TestCase):
    def compare(self, results, reference=plain):
        """All ranks had the same values in every step, and the losses of a plain run."""
        self.assertEqual(results[0][1], results[1][1])
        references = run_ranks(reference, len(results[0][0]))
        for (losses, *_), others in zip(results, references):
            self.assertEqual(losses, others)

    def test_without_a_daemon_it_crosses_with_buckets_of_the_schedule(self):
        results = run_ranks(started)
        self.assertEqual(results[0][1][-1]["crossing"], "on")
        self.assertLessEqual(results[0][1][-1][CAP], 1 << 20)
        self.assertFalse([line for line in results[0][2] if "not crossing" in line])
        self.compare(results)

    def test_candidates_of_all_knobs_are_tried(self):
        with daemon() as served:
            results = run_ranks(explored, environment=served.environment)
        self.compare(results)
        tried = {json.dumps(values, sort_keys=True) for values in results[0][1]}
        self.assertGreater(len(tried), 2)

    def test_pushes_switch_crossing_schedule_and_buckets(self):
        with daemon() as served:
            results = run_ranks(pushed, environment=served.environment)
        self.compare(results)
        self.assertIn("off", [values["crossing"] for values in results[0][1]])
        self.assertEqual(results[0][1][-1]["crossing"], "on")

    def test_where_it_would_be_wrong_the_buckets_are_tuned_alone(self):
        with daemon() as served:
            results = run_ranks(clipped, environment=served.environment)
        self.compare(results, plain_clipped)
        self.assertTrue([line for line in results[0][2] if "not crossing the barrier" in line])


if __name__ == "__main__":
    unittest.main()
