"""Training programs for tests of crossing: what they do between backward passes and steps, and what
they see of it."""

import copy
import io
import unittest

import torch
from torch.nn.parallel import DistributedDataParallel

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

    def step(self, *arguments):
        result = self.optimizer.step(*arguments)
        if self.crossing:
            self.pending.append(len(self.crossing._pending))
        return result

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


# The programs' work in an iteration, by name: (program, step).

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


def one_parameter_read(program, step):
    program.iteration()
    program.see(program.model.layers[step % LAYERS].weight)


def one_gradient_clipped(program, step):
    program.optimizer.zero_grad()
    program.loss().backward()
    program.see(torch.nn.utils.clip_grad_norm_(program.model.layers[step % LAYERS].weight, 0.1))
    program.step()


def one_gradient_read(program, step):
    program.optimizer.zero_grad()
    program.loss().backward()
    program.see(program.model.layers[step % LAYERS].weight.grad)
    program.step()


def parameters_read_at_times(program, step):
    (parameters_read if step % 4 > 1 else plain)(program, step)


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
    program.see(program.step(evaluate))


def kept_values(program, step):
    """Through references that were taken in the first iteration: nothing reports their use."""
    if step == 0:
        program.kept = [p.detach() for p in program.ddp.parameters()]
    program.iteration()
    program.see(*program.kept)


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


def accumulated_average(program, step):
    no_sync(program, step)
    mean = [torch.zeros_like(p) for p in program.ddp.parameters()]
    torch._foreach_add_(mean, list(program.ddp.parameters()), alpha=0.5)
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
           no_zero_grad, no_sync, clipping, gradients_read, parameters_read, one_parameter_read,
           one_gradient_read, one_gradient_clipped, second_backward, backward_after_step,
           two_steps, closure, evaluation, checkpoint, whole_model_saved, average, rate, autocast,
           switched, reconfigured]


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


class ProgramTest(unittest.TestCase):
    def assert_equal_to_ddp(self, results, is_crossed=True):
        for rank, ((expected, *_), (seen, most, _, reason)) in enumerate(results):
            with self.subTest(rank=rank):
                self.assertEqual(seen, expected)
                if is_crossed:
                    self.assertIsNone(reason)
                    self.assertGreater(most, 1)
