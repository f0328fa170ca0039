"""A program that ends without destroy_process_group() ends as it does without hocket.

The ranks are programs of their own, which end as Python does: a forked rank would skip it.
"""

import atexit
import os
import subprocess
import sys
import tempfile
import unittest

import torch.distributed as dist
from torch_net import make, one_step

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS, STEPS, LONG_S = 2, 10, 60


def gloo_threads():
    """Returns those that communicate."""
    found = []
    for name in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{name}/comm", encoding="ascii") as file:
            if file.read().strip() == "pt_gloo_runloop":
                found.append(int(name))
    return found


def run_to_the_end(function, *arguments):
    """Runs the function of this file with each of the tuples of arguments, each in a program of its
    own, at the same time; returns how each ended and what it printed."""
    call = f"import sys, torch_exit_test; torch_exit_test.{function.__name__}(*sys.argv[1:])"
    path = ":".join([HERE, os.environ.get("PYTHONPATH", "")])
    programs = [subprocess.Popen([sys.executable, "-c", call, *each], text=True,
                                 env=os.environ | {"PYTHONPATH": path, "HOCKET_TORCH_QUIET": "1"},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for each in arguments]
    try:
        printed = [program.communicate(timeout=LONG_S) for program in programs]
    finally:
        for program in programs:
            program.kill()
    return [(program.returncode, *texts) for program, texts in zip(programs, printed)]


class Noisy:
    """What says so when it is freed, unless nobody can hear it any more."""

    def __init__(self, name):
        self._write, self._text = os.write, f"{name} freed\n".encode()

    def __del__(self):
        self._write(1, self._text)


def program_that_keeps():
    from hocket.torch.kept_works import KEPT, kept
    sys.unkept = Noisy("unkept")
    for number in range(KEPT + 2):
        kept(Noisy(number))
    os.write(1, b"the end\n")


def hold_back_gloo():
    """Lets gloo's threads run where no other thread of this rank does: on one processor, with the
    lowest priority. One that has ended a work frees it later, then."""
    cpu = min(os.sched_getaffinity(0))
    for name in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(name), {cpu})
    for thread in gloo_threads():
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def note_works(works):
    """Appends the works that hocket issues from now on."""
    gloo = dist.distributed_c10d.ProcessGroupGloo
    for place, name in ((dist, "all_reduce"), (gloo, "allreduce"), (gloo, "broadcast")):
        def noted(*arguments, inner=getattr(place, name), **named):
            work = inner(*arguments, **named)
            if work is not None:
                works.append(work)
            return work
        setattr(place, name, noted)


def count_freed_at_exit(works):
    """Prints how many of the works nobody keeps, after what hocket registers later."""
    @atexit.register
    def count():
        kept = {id(work) for work in kept_works._works}
        print("works", len(works) > 0, "freed", sum(id(work) not in kept for work in works))
        works.clear()
    from hocket.torch import kept_works


def rank_that_just_ends(rank, folder, counts):
    works = []
    if counts == "counts":
        count_freed_at_exit(works)
    import hocket.torch as tuning
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=int(rank),
                            world_size=2)
    ddp, optimizer = make()
    job = tuning.tune(ddp, optimizer, schedule=True)
    for step in range(STEPS):
        if step == STEPS - 2:
            hold_back_gloo()
            if counts == "counts":
                note_works(works)
        one_step(ddp, optimizer, step)
    print("crossing", job.values["crossing"])


def rank_that_destroys_its_group(rank, folder, crosses):
    """Its last step is still to be finished then."""
    import hocket.torch as tuning
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=int(rank),
                            world_size=2)
    ddp, optimizer = make()
    if crosses == "crosses":
        tuning.tune(ddp, optimizer, schedule=True)
    for step in range(STEPS):
        one_step(ddp, optimizer, step)
    dist.destroy_process_group()
    print(*[parameter.double().sum().item() for parameter in ddp.parameters()])


class ExitTest(unittest.TestCase):
    def test_kept_works_are_the_latest(self):
        from hocket.torch import kept_works

        class Work:
            pass
        works = [kept_works.kept(Work()) for _ in range(3 * kept_works.KEPT)]
        self.assertEqual(len(kept_works._works), kept_works.KEPT)
        for work, kept in zip(works[2 * kept_works.KEPT:], kept_works._works):
            self.assertIs(work, kept)
        kept_works._works.clear()

    def test_a_kept_work_is_not_freed_while_the_interpreter_ends(self):
        (status, printed, errors), = run_to_the_end(program_that_keeps, ())
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(printed, "0 freed\n1 freed\nthe end\nunkept freed\n")

    def run_ranks(self, counts, expected, function=rank_that_just_ends):
        with tempfile.TemporaryDirectory() as folder:
            for ended in run_to_the_end(function, ("0", folder, counts), ("1", folder, counts)):
                self.assertEqual(ended, (0, expected, ""))

    def test_all_works_are_kept(self):
        self.run_ranks("counts", "crossing on\nworks True freed 0\n")

    def test_ranks_that_do_not_destroy_their_group(self):
        for run in range(RUNS):
            with self.subTest(run=run):
                self.run_ranks("", "crossing on\n")

    def test_ranks_that_destroy_their_group_while_the_last_step_crosses(self):
        with tempfile.TemporaryDirectory() as folder:
            (_, values, _), _ = run_to_the_end(
                rank_that_destroys_its_group, ("0", folder, "plain"), ("1", folder, "plain"))
        for run in range(RUNS):
            with self.subTest(run=run):
                self.run_ranks("crosses", values, rank_that_destroys_its_group)


if __name__ == "__main__":
    unittest.main()
