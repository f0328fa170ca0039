"""The barrier between iterations crossed: a program computes what it computes under plain DDP, to
the bit, whatever it does between backward passes and steps."""

import copy
import io
import os
import random
import unittest
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import run_ranks

from hocket.torch.crossing import Crossing

WIDTH, LAYERS, STEPS = 256, 8, 14
CAP_MB = 0.3  # a layer has 0.25 MB


def config(order="negotiated", partition_bytes=65536, channels=1):
    return {"format": "hocket-schedule", "version": 1, "order": order,
            "partition_bytes": partition_bytes, "credit_bytes": 2 * partition_bytes,
            "comm_channels": channels}


class Net(torch.nn.Module):
    def __init__(self, kind=""):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.norm = torch.nn.BatchNorm1d(WIDTH)
        self.kind = kind
        if kind == "tied":
            self.layers[-1].weight = self.layers[0].weight

    def forward(self, x, leave_out=False):
        if self.kind == "functional":  # without the modules, so that no hook of theirs runs
            for layer in self.layers:
                x = torch.tanh(torch.nn.functional.linear(x, layer.weight, layer.bias)) + x
            return self.norm(x)
        for layer in self.layers[:-1] if leave_out else self.layers:
            x = torch.tanh(layer(x)) + x
        return self.norm(x)


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 1e-2),
    **{name: lambda parameters, name=name: getattr(torch.optim, name)(parameters, 1e-2)
       for name in ("RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop")},
}


class Program:
    """A training program. What it sees is in `seen`; crossing is in `crossing` if it is crossed."""

    def __init__(self, rank, crossed, kind="", optimizer="sgd", settings=None, **options):
        self.rank, self.kind, self.seen, self.pending = rank, kind, [], []
        self.model = Net(kind)
        self.ddp = DistributedDataParallel(self.model, bucket_cap_mb=CAP_MB, **options)
        layers = list(self.model.layers.parameters())
        self.optimizer = OPTIMIZERS[optimizer](
            [{"params": layers[:5]}, {"params": [
                p for p in self.ddp.parameters() if all(p is not other for other in layers[:5])],
                "lr": 0.02}])
        self.crossing = None
        if crossed:
            self.crossing = Crossing(self.ddp, self.optimizer, settings or config())
        self.calls = 0

    def see(self, *values):
        self.seen += [v.detach().double().sum().item() if torch.is_tensor(v) else v for v in values]

    def loss(self, ddp=None, **named):
        self.calls += 1
        generator = torch.Generator().manual_seed(1000 * self.calls + self.rank)
        x = torch.randn(4, WIDTH, generator=generator)
        return (ddp or self.ddp)(x, **named).float().pow(2).mean()

    def step(self):
        self.optimizer.step()
        if self.crossing:
            self.pending.append(len(self.crossing._pending))

    def iteration(self, **named):
        self.optimizer.zero_grad()
        loss = self.loss(**named)
        loss.backward()
        self.step()
        self.see(loss)

    def end(self):
        """Returns what the program saw, how much was crossed, and why crossing ended."""
        self.see(*self.ddp.parameters(), *self.ddp.buffers())
        for state in self.optimizer.state_dict()["state"].values():
            self.see(*[v for v in state.values() if v is not None])
        result = (self.seen, max(self.pending, default=0), self.pending[-3:],
                  self.crossing.off_reason if self.crossing else None)
        if self.crossing:
            self.crossing.close()
        return result


# What a program does in an iteration, by name: (program, step).

def plain(program, _):
    program.iteration()


def kept_gradients(program, _):
    program.optimizer.zero_grad(set_to_none=False)
    program.loss().backward()
    program.step()


def late_zero_grad(program, _):
    loss = program.loss()
    program.optimizer.zero_grad(set_to_none=True)
    loss.backward()
    program.step()


def model_zero_grad(program, step):
    program.ddp.zero_grad(set_to_none=step % 2 == 0)
    program.loss().backward()
    program.step()


def own_zero_grad(program, _):
    for parameter in program.ddp.parameters():
        parameter.grad = None
    program.loss().backward()
    program.step()


def no_zero_grad(program, _):
    program.loss().backward()
    program.step()


def no_sync(program, _):
    program.optimizer.zero_grad()
    with program.ddp.no_sync():
        program.loss().backward()
    program.loss().backward()
    program.step()


def clipping(program, _):
    program.optimizer.zero_grad()
    program.loss().backward()
    program.see(torch.nn.utils.clip_grad_norm_(program.ddp.parameters(), 0.1))
    program.step()


def gradients_read(program, _):
    program.iteration()
    program.see(*[p.grad for p in program.ddp.parameters() if p.grad is not None])


def parameters_read(program, _):
    program.iteration()
    program.see(*program.ddp.parameters())


def second_backward(program, _):
    program.optimizer.zero_grad()
    loss = program.loss()
    loss.backward(retain_graph=True)
    loss.backward()
    program.step()


def backward_after_step(program, _):
    program.optimizer.zero_grad()
    program.loss().backward()
    loss = program.loss(program.model)
    program.step()
    program.see(*torch.autograd.grad(program.loss(program.model), list(program.model.parameters()),
                                     allow_unused=True)[:2])
    del loss


def two_steps(program, _):
    program.iteration()
    program.step()


def closure(program, _):
    def evaluate():
        program.optimizer.zero_grad()
        loss = program.loss()
        loss.backward()
        return loss
    program.see(program.optimizer.step(evaluate))


def evaluation(program, _):
    program.iteration()
    program.ddp.eval()
    with torch.no_grad():
        program.see(program.loss(program.model))
    program.ddp.train()


def checkpoint(program, _):
    program.iteration()
    file = io.BytesIO()
    torch.save({"model": program.ddp.state_dict(), "optimizer": program.optimizer.state_dict()},
               file)
    program.iteration()
    file.seek(0)
    loaded = torch.load(file)
    program.ddp.load_state_dict(loaded["model"])
    program.optimizer.load_state_dict(loaded["optimizer"])


def whole_model_saved(program, _):
    program.iteration()
    file = io.BytesIO()
    torch.save(program.model, file)
    other = copy.deepcopy(program.model)
    program.see(*other.parameters(), program.loss(other), len(file.getvalue()) > 1 << 20)


def average(program, _):
    program.iteration()
    mean = [torch.zeros_like(p) for p in program.ddp.parameters()]
    torch._foreach_add_(mean, [p.detach() for p in program.ddp.parameters()], alpha=0.5)
    program.see(*mean)


def rate(program, step):
    program.iteration()
    for group in program.optimizer.param_groups:
        group["lr"] *= 0.9 if step % 2 else 1.2


def autocast(program, _):
    program.optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = program.loss()
    loss.backward()
    program.step()


def switched(program, step):
    if program.crossing:
        (program.crossing.disable if step % 5 == 4 else program.crossing.enable)()
    program.iteration()


def reconfigured(program, step):
    if program.crossing:
        program.crossing.apply([
            config("fifo", 16384, 3), config("static", 65536), config("negotiated", 1 << 20, 2),
            config("static", 131072, 2)][step % 4])
    program.iteration()


ACTIONS = [plain, plain, plain, kept_gradients, late_zero_grad, model_zero_grad, own_zero_grad,
           no_zero_grad, no_sync, clipping, gradients_read, parameters_read, second_backward,
           backward_after_step, two_steps, closure, evaluation, checkpoint, whole_model_saved,
           average, rate, autocast, switched, reconfigured]


def train(rank, action, named=None):
    """Returns what the program saw without and with crossing, and how it was crossed."""
    results, named = [], dict(named or {})
    steps = named.pop("steps", STEPS)
    for crossed in (False, True):
        program = Program(rank, crossed, **named)
        for step in range(steps):
            action(program, step)
        results.append(program.end())
    return results


def trained_randomly(rank, seed):
    results = []
    options = random.Random(seed)
    named = {"kind": options.choice(["", "tied", "functional"]),
             "optimizer": options.choice(["sgd", "adamw"]),
             "gradient_as_bucket_view": options.choice([False, True]),
             "settings": config(options.choice(["fifo", "static", "negotiated"]),
                                options.choice([16384, 1 << 20]), options.choice([1, 2]))}
    for crossed in (False, True):
        chosen = random.Random(seed)
        actions = chosen.sample(ACTIONS, 5)
        program = Program(rank, crossed, **named)
        for step in range(30):
            action = plain if chosen.random() < 0.6 else chosen.choice(actions)
            action(program, step)
        results.append(program.end())
    return results


def train_unused(rank):
    """The ranks leave out different parameters, and at times the same."""
    def action(program, step):
        program.iteration(leave_out=(step + rank) % 3 == 0 or step % 5 == 0)
    return train(rank, action, {"find_unused_parameters": True})


def local_backward(program, step):
    """Adds gradients of this rank alone to those that were summed, from some iteration on."""
    if step < 6:
        return plain(program, step)
    program.optimizer.zero_grad()
    loss, local = program.loss(), program.loss(program.model)
    loss.backward()
    local.backward()
    program.step()
    return None


def clipping_later(program, step):
    (clipping if step > 6 else plain)(program, step)


def scaled(program, _):
    if not hasattr(program, "scaler"):
        program.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    program.optimizer.zero_grad()
    program.scaler.scale(program.loss()).backward()
    program.scaler.step(program.optimizer)
    program.scaler.update()
    program.pending.append(0)


def scheduled_rate(program, step):
    if step == 0:
        program.schedulers = [torch.optim.lr_scheduler.StepLR(program.optimizer, 3, 0.5)]
    program.iteration()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the optimizer had not stepped yet
        program.schedulers[0].step()
    program.see(program.optimizer.param_groups[1]["lr"])


def stored_gradients_changed(program, step):
    """Through references that were taken in the first iterations: nothing reports their use."""
    program.optimizer.zero_grad(set_to_none=False)
    program.loss().backward()
    if step < 3:
        program.stored = [p.grad for p in program.ddp.parameters()]
    torch._foreach_mul_(program.stored, 0.5)
    program.step()


def train_with_join(rank, divides_by_all):
    results = []
    for crossed in (False, True):
        program = Program(rank, crossed, broadcast_buffers=False)
        for step in range(6):
            plain(program, step)
        with program.ddp.join(divide_by_initial_world_size=divides_by_all):
            for step in range(3 + 2 * rank):
                plain(program, step)
        results.append(program.end())
    return results


def train_until_killed(rank, order):
    program = Program(rank, True, settings=config(order))
    for step in range(8):
        plain(program, step)
    program.optimizer.zero_grad()
    loss = program.loss()
    if rank == 1:
        loss.backward()
        os._exit(3)
    try:
        for step in range(3):
            plain(program, step)
    except RuntimeError as error:
        return str(error)
    return "no error"


def why_off(rank, change):
    program = Program(rank, False)
    optimizer = program.optimizer
    if change == "hook" and hasattr(dist, "algorithms"):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        program.ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    if change == "optimizer":
        optimizer = torch.optim.LBFGS(program.ddp.parameters())
    if change == "one rank" and rank == 1:
        program.ddp.module.norm.weight.__class__ = type("Own", (torch.nn.Parameter,), {})
    crossing = Crossing(program.ddp, optimizer, config())
    plain(program, 0)
    return crossing.off_reason


class CrossingTest(unittest.TestCase):
    def assert_equal_to_ddp(self, results, is_crossed=True):
        for rank, ((expected, *_), (seen, most, _, reason)) in enumerate(results):
            with self.subTest(rank=rank):
                self.assertEqual(seen, expected)
                if is_crossed:
                    self.assertIsNone(reason)
                    self.assertGreater(most, 1)

    def test_equals_ddp(self):
        cases = {action.__name__: (action, {}) for action in (
            plain, kept_gradients, late_zero_grad, model_zero_grad, own_zero_grad, no_zero_grad,
            no_sync, rate, scheduled_rate, autocast, switched, reconfigured)}
        cases["static graph"] = plain, {"static_graph": True}
        cases |= {f"{name}, view {view}": (
            plain, {"optimizer": name, "gradient_as_bucket_view": view})
                  for name in ("sgd", "adamw") for view in (False, True)}
        cases |= {name: (plain, {"optimizer": name}) for name in list(OPTIMIZERS)[2:]}
        cases |= {kind: (plain, {"kind": kind}) for kind in ("tied", "functional")}
        cases |= {f"{order}, {channels} channels": (
            plain, {"steps": 16, "settings": config(order, channels=channels)})
            for order in ("fifo", "static", "negotiated") for channels in (1, 3)}
        for name, (action, named) in cases.items():
            with self.subTest(name):
                self.assert_equal_to_ddp(run_ranks(train, action, named))

    def test_unused_parameters(self):
        self.assert_equal_to_ddp(run_ranks(train_unused))

    def test_ends_where_it_would_gain_nothing(self):
        for action, reason in ((clipping, "before optimizer.step"),
                               (second_backward, None), (two_steps, "in parts"),
                               (closure, "before optimizer.step"),
                               (parameters_read, "between the iterations"),
                               (gradients_read, "between the iterations"), (evaluation, "between"),
                               (average, "between the iterations"), (checkpoint, None),
                               (whole_model_saved, "between the iterations"),
                               (backward_after_step, None)):
            with self.subTest(action.__name__):
                results = run_ranks(train, action)
                self.assert_equal_to_ddp(results, is_crossed=False)
                if reason:
                    for _, (_, _, last, found) in results:
                        self.assertIn(reason, found)
                        self.assertLessEqual(set(last), {0})

    def test_clips_later(self):
        for view in (False, True):
            results = run_ranks(train, clipping_later, {"gradient_as_bucket_view": view})
            self.assert_equal_to_ddp(results, is_crossed=False)
            for _, (_, most, _, reason) in results:
                self.assertGreater(most, 1)
                self.assertIn("before optimizer.step", reason)

    def test_local_backward(self):
        for view in (False, True):
            self.assert_equal_to_ddp(
                run_ranks(train, local_backward, {"gradient_as_bucket_view": view}), False)

    @unittest.skipUnless(hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"),
                         "this PyTorch has no GradScaler for the CPU")
    def test_grad_scaler(self):
        results = run_ranks(train, scaled)
        self.assert_equal_to_ddp(results, is_crossed=False)
        for _, (*_, reason) in results:
            self.assertIn("before optimizer.step", reason)

    def test_stored_gradients_that_change_are_seen_before_it_crosses(self):
        for view in (False, True):
            results = run_ranks(train, stored_gradients_changed, {"gradient_as_bucket_view": view})
            self.assert_equal_to_ddp(results, is_crossed=False)
            for _, (*_, reason) in results:
                self.assertIn("in place", reason)

    def test_join(self):
        for divides_by_all in (True, False):
            results = run_ranks(train_with_join, divides_by_all)
            self.assert_equal_to_ddp(results, is_crossed=False)

    def test_a_rank_that_is_killed_is_an_error(self):
        for order in ("fifo", "negotiated"):
            with self.subTest(order):
                error, _ = run_ranks(train_until_killed, order, expect_exits={1: 3})
                self.assertRegex(error, "(?i)connection|peer|socket|read|timed out")

    def test_says_why_it_is_off(self):
        for change, reason in (("hook", "hook of its own"), ("optimizer", "LBFGS"),
                               ("one rank", "class of their own")):
            with self.subTest(change):
                for found in run_ranks(why_off, change):
                    self.assertIn(reason, found)

    def test_random_programs(self):
        first = int(os.environ.get("HOCKET_TEST_SEED", 1))
        for seed in range(first, first + int(os.environ.get("HOCKET_TEST_SEEDS", 12))):
            with self.subTest(seed=seed):
                self.assert_equal_to_ddp(run_ranks(trained_randomly, seed), is_crossed=False)


if __name__ == "__main__":
    unittest.main()
