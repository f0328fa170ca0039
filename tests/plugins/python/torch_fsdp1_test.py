"""FSDP1's gathering ahead, changed while it trains, which stays the same to the bit."""

import unittest

import torch
from torch_daemon import daemon
from torch_loop import has_tried, train_until
from torch_net import LAYERS, STEPS, WIDTH, make_fsdp1, one_step, plain
from torch_ranks import run_ranks

from hocket.torch import tuning
from hocket.torch.fsdp1 import BACKWARD, FORWARD, Fsdp1
from hocket.torch.subject import LeftAlone

USUAL = {FORWARD: "off", BACKWARD: "pre"}


def train(_, changes):
    """Returns the losses, and in which order the layers were gathered in the last step."""
    model, optimizer = make_fsdp1()
    subject, losses, gathers = Fsdp1(model), [], []
    for step in range(STEPS):
        if step in changes:
            subject.apply(USUAL | changes[step])
        if step == STEPS - 1:
            watch_gathers(model, gathers)
        losses.append(one_step(model, optimizer, step))
    return losses, gathers


def watch_gathers(model, gathers):
    """Appends which layer is gathered, and which has computed, in their order."""
    for i, layer in enumerate(model.layers):
        inner = layer._handle.unshard

        def unshard(i=i, handle=layer._handle, inner=inner):
            if handle.needs_unshard():
                gathers.append(("gather", i))
            return inner()
        layer._handle.unshard = unshard
        layer.module.register_forward_hook(lambda *_, i=i: gathers.append(("forward", i)))
        if i > 0:  # whose input has a gradient
            layer.module.register_full_backward_hook(
                lambda *_, i=i: gathers.append(("backward", i)))


def found(_, options):
    """Returns the knobs or why there are none, the tensors and the name."""
    try:
        model, _ = make_fsdp1(**options)
        if options.get("wrapped") == LAYERS - 1:
            model.layers[0].forward_prefetch = True
        subject = Fsdp1(model)
    except LeftAlone as reason:
        return str(reason), None, None
    return ({knob.name: knob.usual for knob in subject.knobs}, tuning._parameters(model),
            tuning._name_of(model))


def refused(_):
    """Returns what is refused without a byte to spare, beginning with nothing gathered ahead."""
    subject = Fsdp1(make_fsdp1(backward_prefetch=None)[0], available=lambda *_: 0)
    return [subject.accept(USUAL | values)
            for values in ({BACKWARD: "none"}, {BACKWARD: "post"}, {FORWARD: "on"})]


def explored(rank):
    return train_until(has_tried(rank, 1), explore=0.5, make=make_fsdp1)


def plain_wrapped(_, steps):
    return plain(_, steps, make=make_fsdp1)


@unittest.skipIf(torch.__version__.startswith("1."), "gloo has no reduce-scatter there")
class Fsdp1Test(unittest.TestCase):
    def test_training_stays_the_same_to_the_bit_and_gathers_ahead_as_it_is_told(self):
        expected = run_ranks(plain_wrapped, STEPS)
        for changes, is_ahead in (({}, False), ({0: {FORWARD: "on"}}, True),
                                  ({3: {BACKWARD: "none"}, 5: {BACKWARD: "post"}}, False),
                                  ({1: {FORWARD: "on", BACKWARD: "none"}, 6: {}}, False)):
            with self.subTest(changes=changes):
                results = run_ranks(train, changes)
                self.assertEqual([losses for losses, _ in results], expected)
                gathers = results[0][1]
                before = gathers[:gathers.index(("forward", 0))]
                self.assertEqual(("gather", 1) in before, is_ahead, gathers)

    def test_the_next_layer_is_gathered_before_the_gradients_or_after_them(self):
        for word in ("none", "post", "pre"):
            (_, gathers), _ = run_ranks(train, {2: {BACKWARD: word}})
            self.assertEqual(gathers.count(("gather", 3)), 2, gathers)  # forward and backward
            backward = gathers[gathers.index(("forward", LAYERS - 1)):]
            self.assertEqual(backward.index(("gather", 3)) < backward.index(("backward", 4)),
                             word == "pre", backward)

    def test_what_is_found(self):
        for use_orig_params in (True, False):
            knobs, tensors, name = run_ranks(found, {"use_orig_params": use_orig_params})[0]
            self.assertEqual(knobs, USUAL)
            self.assertEqual(name, "Net-132.1k")
            self.assertEqual(tensors[:2], [("layers.0.weight", WIDTH * WIDTH, 4, True),
                                           ("layers.0.bias", WIDTH, 4, True)])
            self.assertEqual(len(tensors), 2 * LAYERS)

    def test_what_is_left_alone(self):
        from torch.distributed.fsdp import ShardingStrategy
        for options, reason in (({"wrapped": 1}, "fewer than two modules"),
                                ({"wrapped": LAYERS - 1}, "in different ways"),
                                ({"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP},
                                 "SHARD_GRAD_OP has no knobs")):
            with self.subTest(reason):
                for why, *_ in run_ranks(found, options):
                    self.assertIn(reason, why)

    def test_memory_that_is_not_there_is_refused(self):
        for same, backward, forward in run_ranks(refused):
            self.assertIsNone(same)
            self.assertIn("MiB", backward)
            self.assertIn("MiB", forward)

    def test_candidates_are_tried_on_all_ranks_at_the_same_steps(self):
        with daemon() as served:
            results = run_ranks(explored, environment=served.environment)
        self.assertEqual(results[0][1], results[1][1])
        self.assertGreater(len({str(values) for values in results[0][1]}), 1)
        self.assertEqual([losses for losses, *_ in results],
                         run_ranks(plain_wrapped, len(results[0][0])))


if __name__ == "__main__":
    unittest.main()
