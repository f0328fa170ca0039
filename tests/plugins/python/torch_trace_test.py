"""hocket.torch.trace: two ranks record the same steps, and rank 0 saves what both recorded."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

RANKS = 2
LONG_S = 120


def names_of(path):
    """Returns the names of a trace's events; PyTorch without Kineto writes them as a list."""
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    events = document["traceEvents"] if isinstance(document, dict) else document
    return [event.get("name", "") for event in events]


class Warnings:
    """A stream whose lines become those of a list."""

    def __init__(self, lines):
        self.lines = lines

    def write(self, text):
        if text.strip():
            self.lines.append(text)

    def flush(self):
        pass


class Rank:
    """A rank that trains a small model, and whose ballot is summed while traces are sent."""

    def __init__(self, folder, rank, width=64):
        import torch
        import torch.distributed as distributed

        self.torch, self.distributed, self.folder, self.rank = torch, distributed, folder, rank
        torch.set_num_threads(1)
        torch.manual_seed(0)
        distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous",
                                       rank=rank, world_size=RANKS)
        self.group = distributed.new_group(backend="gloo")
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(width, width))
        self.inputs = torch.ones(4, width)
        self.ballot = torch.zeros(1)
        self.said = []
        self.prepare = torch.autograd.profiler.profile._prepare_trace

    def train(self):
        self.ballot += 1
        work = self.distributed.all_reduce(self.ballot, group=self.group, async_op=True)
        self.model(self.inputs).sum().backward()
        work.wait()

    def recorder(self, save):
        from hocket.torch.trace import TraceRecorder
        return TraceRecorder(self.rank, RANKS, self.group, config=lambda: '{"of": "these steps"}',
                             save=save, warn=self.said.append)

    def ends(self, recorder, **said):
        """Returns what the test looks at."""
        said["ended"] = recorder.close(LONG_S)
        warnings, self.said = self.said, []
        said["is_as_before"] = self.torch.autograd.profiler.profile._prepare_trace is self.prepare
        return dict(said, warnings=warnings, ballot=self.ballot.item())


def records(self):
    """Records three and two iterations, and gives up a third window."""
    saved = []

    def save(files, config):
        saved.append([[file and names_of(file) for file in files], config, files])
    recorder = self.recorder(save)
    for iteration in range(30):  # two in each step of the client
        if iteration == 2:
            recorder.request(5, 3)
        if iteration == 12:
            recorder.request(8, 2)
        if iteration == 20:
            recorder.request(14, 10)
        recorder.iteration_begins(iteration // 2, iteration)
        self.train()
    said = self.ends(recorder)
    left = [file for _, _, files in saved for file in files if os.path.exists(file)]
    return dict(said, saved=saved, left=left)


def uses(self, first_step=4):
    """A rank whose program uses the profiler itself has no trace of steps 6 to 8."""
    saved = []
    recorder = self.recorder(lambda files, _: saved.append([bool(file) for file in files]))
    own = self.torch.profiler.profile(activities=[self.torch.profiler.ProfilerActivity.CPU])
    for step in range(24):
        if step == 0:
            recorder.request(6, 3)
        if step == 14:
            recorder.request(20, 2)
        recorder.iteration_begins(step, step)
        if step == first_step and self.rank == 1:
            own.start()
        if step == 12 and self.rank == 1:
            own.stop()
        self.train()
    return self.ends(recorder, saved=saved,
                     own_events=len(own.events()) if self.rank == 1 else 0)


def begins_to_use(self):
    return uses(self, first_step=7)


def late(self):
    """The steps have begun when they are asked for."""
    saved = []
    recorder = self.recorder(lambda *given: saved.append(given))
    for step in range(6):
        recorder.iteration_begins(step, step)
        if step == 2:
            recorder.request(1, 3)
        self.train()
    return self.ends(recorder, saved=saved)


def raises(self):
    def save(*_):
        raise OSError("no room")
    recorder = self.recorder(save)
    recorder.request(2, 1)
    for step in range(5):
        recorder.iteration_begins(step, step)
        self.train()
    return self.ends(recorder)


SCENARIOS = (records, uses, begins_to_use, late, raises)


def job(self):
    """A job that is tuned, until a file says that its profile is there."""
    import logging

    import hocket.torch

    logger = logging.getLogger("hocket")
    logger.addHandler(logging.StreamHandler(Warnings(self.said)))
    optimizer = self.torch.optim.SGD(self.model.parameters(), lr=0.01)
    tuned = hocket.torch.tune(self.model, optimizer, explore=0, name="small")
    is_done = self.torch.zeros(1)
    while not is_done.item():
        self.train()
        optimizer.step()
        is_done += self.rank == 0 and os.path.exists(os.path.join(self.folder, "stop"))
        self.distributed.all_reduce(is_done)
    tuned.close()
    return {"warnings": self.said, "status": tuned.status()}


def run(names, folder, rank):
    self = Rank(folder, rank, width=1024 if names == "job" else 64)
    said = {name: globals()[name](self) for name in names.split(",")}
    pathlib.Path(folder, f"said-{rank}.json").write_text(json.dumps(said), encoding="utf-8")
    self.distributed.destroy_process_group()


def temporary_folder(test):
    """Returns a folder that goes with the test; ranks keep temporary files in its folder tmp."""
    folder = tempfile.TemporaryDirectory(prefix="hocket-test-")
    test(folder.cleanup)
    os.mkdir(os.path.join(folder.name, "tmp"))
    return folder.name


def start(folder, names, clean_up, **environment):
    """Starts the ranks."""
    environment = dict(os.environ, TMPDIR=os.path.join(folder, "tmp"), **environment)
    ranks = [subprocess.Popen([sys.executable, __file__, names, folder, str(rank)],
                              env=environment) for rank in range(RANKS)]
    for rank in ranks:
        clean_up(rank.wait)
        clean_up(rank.kill)
    return ranks


def said_by(folder, ranks):
    for rank in ranks:
        rank.wait(LONG_S)
    # Not the exit status: an interpreter may abort at exit, after everything is written.
    return [json.loads(pathlib.Path(folder, f"said-{rank}.json").read_text(encoding="utf-8"))
            for rank in range(RANKS)]


class TraceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        names = ",".join(scenario.__name__ for scenario in SCENARIOS)
        cls.said = said_by(cls.folder, start(cls.folder, names, cls.addClassCleanup))

    def said_in(self, scenario):
        return [said[scenario.__name__] for said in self.said]

    def test_rank_0_saves_what_both_ranks_recorded_of_the_same_steps(self):
        said = self.said_in(records)
        self.assertEqual([each["warnings"] for each in said], [[], []])
        self.assertEqual(said[1]["saved"], [])
        windows = said[0]["saved"]
        self.assertEqual(len(windows), 2, "the third had not ended")
        for (traces, config, _), steps in zip(windows, (range(10, 13), range(16, 18))):
            self.assertEqual(config, '{"of": "these steps"}')
            self.assertEqual(len(traces), RANKS)
            for names in traces:
                marks = [name for name in names if name.startswith("ProfilerStep#")]
                self.assertEqual(marks, [f"ProfilerStep#{step}" for step in steps])
                self.assertTrue(any("addmm" in name for name in names))
                self.assertTrue(any("allreduce" in name or "all_reduce" in name for name in names))
        self.assertEqual(said[0]["left"], [])
        kept = os.listdir(os.path.join(self.folder, "tmp"))
        self.assertEqual([name for name in kept if name.startswith("hocket")], [])
        self.assertTrue(all(each["ended"] and each["is_as_before"] for each in said))
        self.assertEqual(said[0]["ballot"], said[1]["ballot"])

    def test_a_program_that_uses_the_profiler_keeps_it(self):
        for scenario in (uses, begins_to_use):
            with self.subTest(scenario.__name__):
                said = self.said_in(scenario)
                self.assertEqual(said[0]["saved"], [[True, False], [True, True]])
                self.assertEqual(said[0]["warnings"], [])
                self.assertEqual(said[1]["warnings"], [
                    "profile on rank 1: the program uses PyTorch's profiler itself"])
                self.assertGreater(said[1]["own_events"], 0)
                self.assertTrue(said[1]["is_as_before"])

    def test_where_no_rank_has_a_trace_nothing_is_saved(self):
        said = self.said_in(late)
        self.assertEqual(said[0]["saved"], [])
        self.assertEqual(said[0]["warnings"], ["profile on rank 0: no rank has a trace"])

    def test_what_saving_raises_is_a_warning(self):
        said = self.said_in(raises)
        self.assertEqual(said[0]["warnings"], ["profile on rank 0: no room"])
        self.assertEqual(said[0]["ballot"], said[1]["ballot"])

    def test_hocket_profile_gets_the_profile_of_a_running_job(self):
        folder = temporary_folder(self.addCleanup)
        state = {"XDG_STATE_HOME": os.path.join(folder, "state"),
                 "XDG_CACHE_HOME": os.path.join(folder, "cache"),
                 "HOCKET_STORE": os.path.join(folder, "store.db")}
        environment, hocket = dict(os.environ, **state), os.environ["HOCKET_PROGRAM"]
        daemon = subprocess.Popen([hocket, "serve", "--listen", "127.0.0.1:0"], env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        environment["HOCKET_DAEMON"] = state["HOCKET_DAEMON"] = daemon.stdout.readline().strip()
        ranks = start(folder, "job", self.addCleanup, **state)

        def ask(*arguments):
            return subprocess.run([hocket, *arguments], env=environment, timeout=LONG_S,
                                  capture_output=True, text=True)
        end = time.monotonic() + LONG_S
        while "small" not in ask("jobs").stdout:  # it registers in the background
            self.assertLess(time.monotonic(), end)
        asked = ask("profile", "small", "--iterations", "4", "--wait", str(LONG_S), "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        pathlib.Path(folder, "stop").touch()
        self.assertEqual([each["job"]["warnings"] for each in said_by(folder, ranks)], [[], []])
        name = json.loads(asked.stdout)["profile"]
        metrics = json.loads(ask("profiles", "metrics", name, "--json").stdout)
        steps = sorted(each["step"] for each in metrics["iterations"])
        self.assertEqual(len(steps), 4 * RANKS, metrics)
        self.assertEqual(steps[::RANKS], list(range(steps[0], steps[0] + 4)))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        unittest.main()
