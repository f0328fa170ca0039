"""DistributedDataParallel's buckets, changed while it trains: training is the same to the bit."""

import contextlib
import unittest

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import run_ranks

from hocket.torch.buckets import KNOB, Buckets
from hocket.torch.subject import LeftAlone

WIDTH, LAYERS, STEPS = 128, 8, 8  # a layer has 66,048 bytes of parameters
CAPS = [256 << 10, 512 << 10, 256 << 10, 1 << 20]


class Net(torch.nn.Module):
    """Layers of which the last may be left out, or be the first one's weights."""

    def __init__(self, kind):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.kind = kind
        if kind == "tied":
            self.layers[-1].weight = self.layers[0].weight

    def forward(self, x, leave_out=False):
        for layer in self.layers[:-1] if leave_out else self.layers:
            x = torch.tanh(layer(x)) + x
        return x


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(4, WIDTH, generator=generator)


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def one_step(ddp, optimizer, rank, step, kind):
    """Trains one step of this kind; returns its loss."""
    optimizer.zero_grad(**({"set_to_none": False} if kind == "kept_gradients" else {}))
    micro_batches = 3 if kind == "no_sync" else 1
    for i in range(micro_batches):
        with ddp.no_sync() if i + 1 < micro_batches else contextlib.nullcontext():
            x = batch(rank, 10 * step + i)
            autocast = (torch.autocast("cpu", dtype=torch.bfloat16) if kind == "autocast"
                        else contextlib.nullcontext())
            with autocast:
                # With unused parameters, the ranks leave out different ones at times.
                out = ddp(x, leave_out=kind == "unused" and (step + rank) % 3 == 0
                          or kind == "static_unused")
            loss = out.float().pow(2).mean()
            loss.backward()
    if kind == "clipping":
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), 0.1)
    optimizer.step()
    return loss.item()


def options_of(kind):
    return {"unused": {"find_unused_parameters": True}, "static": {"static_graph": True},
            "static_unused": {"static_graph": True},
            "view": {"gradient_as_bucket_view": True},
            "kept_gradients": {"gradient_as_bucket_view": True}}.get(kind, {})


def train(rank, kind, changes):
    """Returns losses, parameters, and the buckets' sizes after each step."""
    model = Net(kind)
    ddp = DistributedDataParallel(model, **options_of(kind))
    optimizer = optimizer_of(ddp)
    subject = Buckets(ddp)
    losses, sizes = [], []
    for step in range(STEPS):
        if step in changes:
            subject.apply({KNOB: changes[step]})
        losses.append(one_step(ddp, optimizer, rank, step, kind))
        sizes.append(subject.bucket_bytes())
    return losses, [p.detach().clone() for p in model.parameters()], sizes


def hooked(rank, register, is_changed=True):
    """Returns how a model with a communication hook is changed, and its parameters afterwards."""
    ddp = DistributedDataParallel(Net("plain"))
    register(ddp)
    optimizer = optimizer_of(ddp)
    try:
        subject = Buckets(ddp)
    except LeftAlone as reason:
        subject, answer = None, str(reason)
    else:
        answer = None
    for step in range(4):
        if is_changed and subject is not None and step in (1, 2):
            answer = subject.accept({KNOB: CAPS[step - 1]})
            subject.apply({KNOB: CAPS[step - 1]})
        one_step(ddp, optimizer, rank, step, "plain")
    return answer, [p.detach().clone() for p in ddp.parameters()]


def no_hook(_):
    pass


def fp16_builtin(ddp):
    ddp._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)


def fp16_hook(ddp):
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    ddp.register_comm_hook(None, fp16_compress_hook)


def own_hook(ddp):
    def hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        state.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future
    ddp.register_comm_hook([], hook)


def left_alone(_, wrap):
    try:
        Buckets(wrap())
    except LeftAlone as reason:
        return str(reason)
    return None


def sparse():
    return DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Embedding(2000, WIDTH, sparse=True), torch.nn.Linear(WIDTH, WIDTH)))


def small():
    return DistributedDataParallel(torch.nn.Linear(4, 4))


def unknown_version():
    ddp = DistributedDataParallel(Net("plain"))

    class Newer(dist.Reducer):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
    Newer.__init__.__doc__ = dist.Reducer.__init__.__doc__.replace(
        "first_bucket", "later_bucket_bytes_cap: int = 3, first_bucket")
    dist.Reducer = Newer  # in this rank's process alone
    return ddp


class BucketsTest(unittest.TestCase):
    def same(self, parameters, others):
        for parameter, other in zip(parameters, others):
            self.assertTrue(torch.equal(parameter, other))

    def compare(self, kind, changes):
        """Returns the sizes of buckets after each step, of a job that trains like a plain one."""
        for (losses, parameters, _), (other_losses, others, sizes) in zip(
                self.plain(kind), run_ranks(train, kind, changes)):
            self.assertEqual(losses, other_losses)
            self.same(parameters, others)
        return sizes

    def plain(self, kind, known={}):  # noqa: B006
        if kind not in known:
            known[kind] = run_ranks(train, kind, {})
        return known[kind]

    def test_training_stays_the_same_to_the_bit(self):
        for kind in ("plain", "no_sync", "unused", "static", "static_unused", "tied", "view",
                     "kept_gradients", "clipping", "autocast"):
            for changes in ({0: CAPS[0]}, {1: CAPS[0]}, {3: CAPS[0], 5: CAPS[1], 6: CAPS[3]},
                            {STEPS - 1: CAPS[0]}):
                with self.subTest(kind=kind, changes=changes):
                    self.compare(kind, changes)

    def test_the_first_iteration_has_the_new_buckets_already(self):
        sizes = self.compare("plain", {3: 256 << 10, 6: 512 << 10})
        self.assertEqual(len(sizes[2]), 1)
        self.assertEqual({sum(each) for each in sizes}, {LAYERS * (WIDTH + 1) * WIDTH * 4})
        self.assertEqual(len(sizes[3]), 2)
        self.assertEqual(sizes[3:6], [sizes[3]] * 3)
        self.assertEqual(sizes[6:], [[sum(sizes[2])]] * 2)

    def test_back_at_the_default_are_the_first_buckets(self):
        sizes = self.compare("plain", {3: 256 << 10, 6: 1 << 20})
        self.assertEqual(sizes[7], sizes[2])

    def test_a_hook_that_keeps_nothing_stays(self):
        for register in (fp16_builtin, fp16_hook):
            with self.subTest(register.__name__):
                (answer, parameters), _ = run_ranks(hooked, register)
                if answer is not None:  # versions before 2.0 do not know which hook it is
                    self.assertIn("the communication hook fp16_compress_hook", answer)
                    self.assertIs(register, fp16_hook)
                (_, plain), _ = run_ranks(hooked, no_hook)
                self.assertFalse(all(map(torch.equal, parameters, plain)))
                (_, unchanged), _ = run_ranks(hooked, register, False)
                self.same(parameters, unchanged)

    def test_a_hook_with_a_state_is_left_alone(self):
        for answer, _ in run_ranks(hooked, own_hook):
            self.assertIn("the communication hook", answer)

    def test_what_is_left_alone(self):
        for wrap, reason in ((sparse, "sparse gradients"), (small, "one bucket"),
                             (unknown_version, "later_bucket_bytes_cap")):
            with self.subTest(wrap.__name__):
                for answer in run_ranks(left_alone, wrap):
                    self.assertIn(reason, answer)


if __name__ == "__main__":
    unittest.main()
