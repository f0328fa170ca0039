"""Jobs tuned with schedule=True: buckets, schedule and crossing change while they train."""

import json
import unittest

import torch
from torch_daemon import daemon, hocket
from torch_loop import has_tried, train_until
from torch.nn.parallel import DistributedDataParallel
from torch_net import STEPS, WIDTH, batch, make, optimizer_of, plain
from torch_ranks import run_ranks

from hocket.client import Client

CAP, PARTITION = "bucket_cap_bytes", "partition_bytes"
WIDE_CAP = 8 << 20  # the model's size, which DDP's own cap is above


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
            hocket("pin", "net")
        return all(job.values[name] == value for name, value in versions[-1].items())
    return train_until(done, schedule=True)


def measured(rank):
    """Compares other buckets with the first ones. Returns also, for each iteration that was
    reported with crossing on, whether it crossed."""
    reported, jobs = [], []

    def push(step):
        if rank == 0 and step == 5:
            hocket("push", "net", "--set", f"job.{CAP}=262144")

    def iteration(client, step, seconds, inner=Client.iteration):
        if jobs and jobs[0].values.get("crossing") == "on":
            reported.append(jobs[0]._subject._crossing._crossing)
        inner(client, step, seconds)

    def done(job, lines, step):
        jobs[:] = [job]
        return rank > 0 or len(reported) > 60 and any("trying version 1" in line for line in lines)
    Client.iteration = iteration
    return *train_until(done, at_step=push, schedule=True), reported


def clipped_step(ddp, optimizer, step):
    optimizer.zero_grad()
    loss = ddp(batch(torch.distributed.get_rank(), step)).pow(2).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(ddp.parameters(), 0.1)
    optimizer.step()
    return loss.item()


def tried_after(lines):
    """Returns the lines of what was tried once crossing had ended."""
    ends = [i for i, line in enumerate(lines) if "not crossing the barrier" in line]
    return [line for line in lines[ends[0]:] if "trying trial" in line] if ends else []


def clipped(rank):
    return train_until(lambda job, lines, _: rank > 0 or bool(tried_after(lines)),
                       explore=0.5, schedule=True, step_of=clipped_step)


def make_wide():
    torch.manual_seed(0)
    ddp = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 4096), torch.nn.Linear(4096, WIDTH)))
    return ddp, optimizer_of(ddp)


def clipped_without_a_daemon(_):
    return train_until(lambda job, lines, step: step == 2 * STEPS, schedule=True, make=make_wide,
                       step_of=clipped_step)


def plain_clipped(_, steps, make=make):
    ddp, optimizer = make()
    return [clipped_step(ddp, optimizer, step) for step in range(steps)]


def plain_clipped_wide(rank, steps):
    return plain_clipped(rank, steps, make_wide)


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

    def test_only_what_was_in_force_is_measured(self):
        with daemon() as served:
            results = run_ranks(measured, environment=served.environment)
        self.compare([others for *others, _ in results])
        reported = results[0][-1]
        self.assertEqual(set(reported), {True}, reported)

    def test_where_it_would_gain_nothing_the_job_goes_on_as_one_of_buckets_alone(self):
        with daemon() as served:
            results = run_ranks(clipped, environment=served.environment)
        self.compare(results, plain_clipped)
        _, values, lines, status = results[0]
        self.assertEqual(set(values[0]), {CAP, "crossing", PARTITION, "credit_bytes"})
        self.assertEqual(set(values[-1]), {CAP})
        self.assertNotIn(PARTITION, status)
        tried = tried_after(lines)
        self.assertGreater(len(tried), 0)
        for line in tried:
            self.assertIn(CAP, line)
            self.assertNotRegex(line, "crossing|partition|credit")

    def test_without_a_daemon_it_goes_on_with_the_programs_own_buckets(self):
        results = run_ranks(clipped_without_a_daemon)
        self.compare(results, plain_clipped_wide)
        for _, values, *_ in results:
            self.assertEqual(values[0][CAP], 1 << 20)
            self.assertEqual(values[-1], {CAP: WIDE_CAP})


if __name__ == "__main__":
    unittest.main()
