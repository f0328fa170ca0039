"""Whole jobs with a daemon: candidates are tried, pushes taken, and results fetched."""

import unittest

from torch_daemon import daemon, hocket
from torch_loop import has_tried, train_until
from torch_net import STEPS, make, one_step, plain
from torch_ranks import log_lines, run_ranks

import hocket.torch as tuning

KNOB = "bucket_cap_bytes"
UNTUNED = ("hocket: net: not tuned: no daemon is named in HOCKET_DAEMON (`hocket serve` starts one); "
           "it trains with bucket_cap_bytes 256 KiB")


def explored(rank, schedule):
    """Until rank 0 tries the second candidate; also the numbers for a program's own logger."""
    numbers = []
    tuning.on_progress(lambda step, values: numbers.append((step, values)))
    tried = has_tried(rank, 1)
    return (*train_until(lambda *now: tried(*now) and (rank > 0 or bool(numbers)), explore=0.5,
                         schedule=schedule), numbers)


def pushed(rank):
    """Until a version that an operator pins is taken, which no measuring can reject."""
    def push(step):
        if rank == 0 and step == 5:
            hocket("push", "net", "--set", f"job.{KNOB}=262144")
            hocket("pin", "net", "--version", "1")
    return train_until(lambda job, lines, _: job.values[KNOB] == 262144 and (
        rank > 0 or any("at once" in line for line in lines)), at_step=push)


def started(_):
    """A job of STEPS steps; returns its losses, its first values, and whether it is watched."""
    lines = log_lines()
    ddp, optimizer = make()
    job = tuning.tune(ddp, optimizer, name="net")
    watched = "step" in vars(optimizer)
    losses = [one_step(ddp, optimizer, step) for step in range(STEPS)]
    status = job.status()
    job.close()
    return losses, job.values, watched, status, lines


class LiveTest(unittest.TestCase):
    def compare(self, all_losses):
        for losses, others in zip(all_losses, run_ranks(plain, len(all_losses[0]))):
            self.assertEqual(losses, others)

    def test_candidates_are_tried_on_all_ranks_at_the_same_steps(self):
        for schedule in (False, True):
            with self.subTest(schedule=schedule), daemon() as served:
                results = run_ranks(explored, schedule, environment=served.environment)
                self.assertEqual(results[0][1], results[1][1])
                self.assertGreater(len({str(values) for values in results[0][1]}), 1)
                self.assertIn("tuned while it trains", results[0][3])
                self.assertEqual("crossing" in results[0][3], schedule)
                self.compare([losses for losses, *_ in results])
                step, values = results[0][4][0]
                self.assertGreater(values["hocket/iteration_ms"], 0)
                self.assertEqual(values["hocket/bucket_cap_bytes"],
                                 results[0][1][step - 1][KNOB])
                self.assertEqual(results[1][4], [])  # rank 0 says it

    def test_a_push_is_taken_and_fetched_by_the_next_job(self):
        with daemon() as served:
            results = run_ranks(pushed, environment=served.environment)
            self.assertEqual(results[0][1], results[1][1])
            self.assertNotEqual(results[0][1][0], results[0][1][-1])
            self.compare([losses for losses, *_ in results])
            next_job = run_ranks(started, environment=served.environment)
            for losses, values, watched, status, _ in next_job:
                self.assertEqual(values, {KNOB: 262144})
                self.assertIn("daemon", status)
                self.assertTrue(watched)
            # Without the daemon, from its store, and with nothing left in the loop.
            stored = run_ranks(started, environment=served.environment | {"HOCKET_DAEMON": ""})
            for rank, (losses, values, watched, status, lines) in enumerate(stored):
                self.assertEqual(values, {KNOB: 262144})
                self.assertIn("store", status)
                self.assertFalse(watched)
                self.assertEqual(lines, [] if rank > 0 else [UNTUNED])
        self.compare([losses for losses, *_ in next_job])
        self.compare([losses for losses, *_ in stored])


if __name__ == "__main__":
    unittest.main()
