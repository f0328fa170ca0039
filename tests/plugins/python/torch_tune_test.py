"""hocket.torch.tune() in a training loop, with a client that changes its setting as told."""

import copy
import ctypes
import gc
import io
import os
import pickle
import unittest
import weakref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_net import LAYERS, STEPS, WIDTH, Net, batch, make, one_step, plain
from torch_ranks import log_lines, run_ranks

import hocket.torch as tuning
from hocket.client import Standing
from hocket.torch import buckets
from hocket.torch import opening as opening_module
from hocket.torch.steps import WARM_UP_STEPS

KNOB = buckets.KNOB
LIVE = {"HOCKET_DAEMON": "http://127.0.0.1:1"}
CHANGES = {2: 256 << 10, 4: 512 << 10, 5: 256 << 10, 9: 1 << 20}


class FakeClient:
    """Changes the cap after the steps of `script`, as hocket_client.h orders the calls."""

    script, start, made = {}, None, []
    source, detail, config, search = "default", "a test", "{}", ""

    def __init__(self, name, tensors, **options):
        self.name, self.tensors, self.options = name, tensors, options
        self.steps, self.filled, self.is_read = 0, 0, 0
        self.times, self.ballot_size = [], 2 if options["own_knobs"][0].running else 0
        self.value = type(self).start or options["own_knobs"][0].usual
        self.is_closed = False
        self.made.append(self)

    def daemon(self):
        return Standing.KNOWS, ""

    def progress(self):
        return {}

    def get(self, _):
        return self.value

    def fill(self, address):
        assert self.is_read == self.filled == self.steps
        self.filled += 1
        floats = (ctypes.c_float * 2).from_address(address)
        floats[0], floats[1] = 1, self.steps

    def read(self, address):
        floats = (ctypes.c_float * 2).from_address(address)
        size = dist.get_world_size()
        assert list(floats) == [size, size * self.is_read], list(floats)
        self.is_read += 1

    def counted(self, step, waited, computed):
        pass

    def program_step(self, step):
        pass

    def iteration(self, step, seconds):
        assert seconds > 0 and step <= self.steps
        self.times.append(step)

    def step_ended(self):
        self.steps += 1
        assert self.steps == self.filled
        changed = self.steps in self.script
        self.value = self.script.get(self.steps, self.value)
        return changed

    def save_traces(self, files, config):
        raise AssertionError("nobody asked for a profile")

    def close(self):
        self.is_closed = True


def tuned(ddp, optimizer, script=None, start=None, **options):
    """Returns a job whose client is a fake, and that client."""
    FakeClient.script, FakeClient.start = script or {}, start
    opening_module.Client, real = FakeClient, opening_module.Client
    try:
        return tuning.tune(ddp, optimizer, **options), FakeClient.made[-1]
    finally:
        opening_module.Client = real


def changing(_, tune_at=0, script=None, start=None):
    """Returns the losses, the cap in each step, and the steps that were measured."""
    ddp, optimizer = make()
    losses, caps, client = [], [], None
    for step in range(STEPS):
        if step == tune_at:
            job, client = tuned(ddp, optimizer, CHANGES if script is None else script, start)
        losses.append(one_step(ddp, optimizer, step))
        caps.append(job.values[KNOB] if client else None)
    job.close()
    return losses, caps, client.times, client.is_closed


def two_models(_):
    """Two models in one process, stepped in turn, of which one is tuned later."""
    lines = log_lines()
    pairs = [make(seed) for seed in (0, 1)]
    jobs, losses, caps = [], [[], []], [[], []]
    for step in range(STEPS):
        for i, (ddp, optimizer) in enumerate(pairs):
            if step == 3 * i:
                jobs.append(tuned(ddp, optimizer, {3: (256 << 10) << i})[0])
            losses[i].append(one_step(ddp, optimizer, step))
            caps[i].append(jobs[i].values[KNOB] if i < len(jobs) else None)
    jobs[0].close()
    dist.destroy_process_group()
    jobs[1].close()
    return losses, caps, lines


def checkpointed(rank, is_tuned):
    """Saves everything in the middle, and goes on with what was read."""
    ddp, optimizer = make()
    losses, stored = [], io.BytesIO()
    job = tuned(ddp, optimizer, CHANGES)[0] if is_tuned else None
    for step in range(STEPS // 2):
        losses.append(one_step(ddp, optimizer, step))
    torch.save({"model": ddp.module, "ddp": ddp.state_dict(), "optimizer": optimizer.state_dict(),
                "copy": copy.deepcopy(ddp.module)}, stored)
    pickle.dumps(copy.deepcopy(optimizer))
    stored.seek(0)
    named = {} if torch.__version__.startswith("1.") else {"weights_only": False}
    state = torch.load(stored, **named)
    same = all(torch.equal(a, b) for a, b in zip(state["model"].parameters(),
                                                 state["copy"].parameters()))
    ddp = DistributedDataParallel(state["model"])
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-2)
    ddp.load_state_dict(state["ddp"])
    optimizer.load_state_dict(state["optimizer"])
    if is_tuned:
        job.close()
        job = tuned(ddp, optimizer, CHANGES)[0]
    for step in range(STEPS // 2, STEPS):
        losses.append(one_step(ddp, optimizer, step))
    return losses, same


def evaluated(rank):
    """Returns which steps were measured, of a job with an evaluation and a checkpoint."""
    ddp, optimizer = make()
    job, client = tuned(ddp, optimizer)
    for step in range(WARM_UP_STEPS + 9):
        one_step(ddp, optimizer, step)
        if step == WARM_UP_STEPS + 1:
            with torch.no_grad():
                ddp(batch(rank, step))
        if step == WARM_UP_STEPS + 4:
            ddp.module.state_dict()
    job.close()
    return client.times


class Wide(torch.nn.Module):
    """A sum of layers, whose backward pass needs no weights: they may change before it."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, x):
        return sum(layer(x) for layer in self.layers)


def forward_ahead(rank, is_tuned):
    """The next forward pass is done before the optimizer's step, its backward pass afterwards."""
    ddp = DistributedDataParallel(Wide())
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-2)
    job = tuned(ddp, optimizer, CHANGES)[0] if is_tuned else None
    losses = []
    loss = ddp(batch(rank, 0)).sum()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        loss = ddp(batch(rank, step + 1)).sum()
        optimizer.step()
    return losses, job.values[KNOB] if job else None


def with_schedulers(_, is_tuned):
    """Learning-rate schedulers made before and after tune() wrap step() as well."""
    ddp, optimizer = make()
    schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)]
    client = tuned(ddp, optimizer, CHANGES)[1] if is_tuned else None
    schedulers.append(torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9))
    # Before 2.3, only for CUDA devices.
    scaler = (torch.amp.GradScaler("cpu") if hasattr(torch.amp, "GradScaler")
              else torch.cuda.amp.GradScaler(enabled=False))
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = ddp(batch(dist.get_rank(), step)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        for scheduler in schedulers:
            scheduler.step()
        losses.append(loss.item())
    return losses, client.steps if client else STEPS


def joined(rank):
    """Rank 0 has more inputs than rank 1: hocket leaves, and the job ends as without it."""
    lines = log_lines()
    ddp, optimizer = make()
    job = tuned(ddp, optimizer, {1: 256 << 10, 4: 512 << 10})[0]
    for step in range(3):
        one_step(ddp, optimizer, step)
    with ddp.join():
        for step in range(3, 9 - 3 * rank):
            one_step(ddp, optimizer, step)
    return job.status(), job.values[KNOB], lines


def dropped(_):
    """Returns whether a model that the program drops is freed, with its job."""
    os.environ["HOCKET_STORE"] = "/nonexistent/store.db"
    ddp, optimizer = make()
    tuning.tune(ddp, optimizer)
    for step in range(3):
        one_step(ddp, optimizer, step)
    model = weakref.ref(ddp)
    del ddp, optimizer
    gc.collect()
    return model() is None


def left(_, wrap, environment_off=False):
    lines = log_lines()
    model = wrap()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    job = tuning.tune(model, optimizer)
    job.close()
    return job.status(), "step" in vars(optimizer), len(FakeClient.made), lines


def unwrapped():
    return Net()


def wrapped():
    return DistributedDataParallel(Net())


def different():
    width = 512 if dist.get_rank() == 0 else 256
    model = DistributedDataParallel(torch.nn.Linear(512, 1024))
    model.module = torch.nn.Linear(width, 1024)  # which DDP itself would have refused
    return model


class TuneTest(unittest.TestCase):
    def losses(self, known=[]):  # noqa: B006
        if not known:
            known.append(run_ranks(plain))
        return known[0]

    def test_all_ranks_change_before_the_same_step(self):
        results = run_ranks(changing, environment=LIVE)
        self.assertEqual([losses for losses, *_ in results], self.losses())
        usual = 1 << 20
        expected, cap = [], usual
        for step in range(STEPS):
            cap = CHANGES.get(step, cap)
            expected.append(cap)
        for _, caps, _, is_closed in results:
            self.assertEqual(caps, expected)
            self.assertTrue(is_closed)

    def test_tuned_at_the_first_step_and_at_the_last(self):
        for tune_at, script, start in ((0, {}, 256 << 10), (1, CHANGES, 512 << 10),
                                       (STEPS - 1, {}, 256 << 10)):
            with self.subTest(tune_at=tune_at):
                results = run_ranks(changing, tune_at, script, start, environment=LIVE)
                self.assertEqual([losses for losses, *_ in results], self.losses())
                for _, caps, _, _ in results:
                    self.assertEqual(caps[tune_at], start)

    def test_two_models_in_one_process(self):
        others = run_ranks(plain, STEPS, 1)
        for rank, (losses, caps, lines) in enumerate(run_ranks(two_models, environment=LIVE)):
            self.assertEqual(losses[0], self.losses()[rank])
            self.assertEqual(losses[1], others[rank])
            self.assertEqual(caps[0][2:5], [1 << 20, 256 << 10, 256 << 10])
            self.assertEqual(caps[1][5:8], [1 << 20, 512 << 10, 512 << 10])
            self.assertFalse([line for line in lines if "no longer" in line])

    def test_a_checkpoint_in_the_middle(self):
        expected = run_ranks(checkpointed, False)
        self.assertEqual(run_ranks(checkpointed, True, environment=LIVE), expected)
        self.assertTrue(expected[0][1])

    def test_iterations_with_an_evaluation_or_a_checkpoint_are_not_measured(self):
        times, _ = run_ranks(evaluated, environment=LIVE)
        first = WARM_UP_STEPS
        self.assertEqual(times, [first + i for i in (0, 1, 3, 4, 6, 7, 8)])

    def test_a_forward_pass_that_is_ahead(self):
        expected = run_ranks(forward_ahead, False)
        results = run_ranks(forward_ahead, True, environment=LIVE)
        self.assertEqual([losses for losses, _ in results], [losses for losses, _ in expected])
        self.assertEqual({cap for _, cap in results}, {CHANGES[9]})

    def test_schedulers_and_a_scaler(self):
        self.assertEqual(run_ranks(with_schedulers, True, environment=LIVE),
                         run_ranks(with_schedulers, False))

    def test_join(self):
        for status, cap, lines in run_ranks(joined, environment=LIVE):
            self.assertIn("Join", status)
            self.assertEqual(cap, 256 << 10)
            self.assertTrue(any("Join" in line for line in lines))

    def test_nothing_is_done_without_a_daemon_or_when_it_is_off(self):
        for environment, reason in ((LIVE | {"HOCKET_TORCH": "off"}, "HOCKET_TORCH=off"),
                                    ({"HOCKET_DAEMON": "", "HOCKET_STORE": "/nonexistent"},
                                     "no daemon")):
            for status, is_wrapped, _, lines in run_ranks(left, wrapped, environment=environment):
                self.assertIn(reason, status)
                self.assertFalse(is_wrapped)

    def test_models_that_are_left_alone(self):
        for wrap, reason in ((unwrapped, "not wrapped"), (different, "differs")):
            with self.subTest(wrap.__name__):
                results = run_ranks(left, wrap, environment=LIVE)
                for status, is_wrapped, clients, _ in results:
                    self.assertIn(reason, status)
                    self.assertFalse(is_wrapped)
                    self.assertEqual(clients, 0)
                self.assertIn(reason, results[0][3][0])

    def test_a_model_that_is_dropped_is_freed(self):
        self.assertEqual(run_ranks(dropped, environment=LIVE), [True, True])

    def test_without_a_process_group(self):
        ddp = Net()
        with self.assertLogs("hocket", "WARNING"):
            job = tuning.tune(ddp, torch.optim.SGD(ddp.parameters(), lr=0.1))
        self.assertEqual(job.values, {})
        job.close()


if __name__ == "__main__":
    unittest.main()
