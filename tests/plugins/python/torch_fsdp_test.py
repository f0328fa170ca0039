"""FSDP2's prefetching and resharding, changed while it trains, which stays the same to the bit."""

import unittest

from torch_daemon import daemon
from torch_loop import has_tried, train_until
from torch_net import LAYERS, STEPS, Net, make_sharded, one_step, optimizer_of, plain
from torch_ranks import run_ranks

from hocket.torch.prefetch import BACKWARD, FORWARD, RESHARD, Prefetch
from hocket.torch.subject import LeftAlone

USUAL = {FORWARD: 0, BACKWARD: 0, RESHARD: "on"}


def make_with_kept_tail(seed=0):
    """Returns a model that is sharded as frameworks do it, the last modules together and kept, and
    its optimizer."""
    from torch.distributed.fsdp import fully_shard
    model = Net(seed)
    for layer in model.layers[:-2]:
        fully_shard(layer)
    fully_shard(list(model.layers[-2:]), reshard_after_forward=False)
    fully_shard(model)
    return model, optimizer_of(model)


def train(_, changes, record=False, make=make_sharded):
    """Returns the losses, and in which order parameters were gathered in the last step."""
    model, optimizer = make()
    subject, losses = Prefetch(model), []
    gathers = []
    for step in range(STEPS):
        if step in changes:
            subject.apply(USUAL | changes[step])
        if record and step == STEPS - 1:
            watch_gathers(model, gathers)
        losses.append(one_step(model, optimizer, step))
    return losses, gathers


def watch_gathers(model, gathers):
    """Appends which layer is gathered, and which computes, in their order."""
    from torch.distributed.fsdp._fully_shard import _fsdp_param_group as groups
    layers = {id(layer._get_fsdp_state()._fsdp_param_group): i
              for i, layer in enumerate(model.layers)}
    inner = groups.FSDPParamGroup.unshard

    def unshard(group, *arguments):
        if id(group) in layers and not group.is_unsharded and group._all_gather_result is None:
            gathers.append(("gather", layers[id(group)]))
        return inner(group, *arguments)
    groups.FSDPParamGroup.unshard = unshard
    for i, layer in enumerate(model.layers):
        layer.register_forward_hook(lambda *_, i=i: gathers.append(("forward", i)))


def knobs(_, reshard_after_forward=True, own_prefetch=False):
    model, _ = make_sharded(0, reshard_after_forward)
    if own_prefetch:
        model.layers[0].set_modules_to_forward_prefetch([model.layers[1]])
    try:
        return {knob.name: knob.usual for knob in Prefetch(model).knobs}
    except LeftAlone as reason:
        return str(reason)


def knobs_with_kept_tail(_):
    return {knob.name: knob.usual for knob in Prefetch(make_with_kept_tail()[0]).knobs}


def refused(_):
    """Returns what is refused where there are only so many free bytes."""
    subject = Prefetch(make_sharded()[0], available=lambda *_: 2 * 66_048)
    return {name: subject.accept(USUAL | values) for name, values in {
        "two more": {FORWARD: 3}, "none": {}, "all": {RESHARD: "off"}}.items()}


def explored(rank):
    return train_until(has_tried(rank, 1), explore=0.5, make=make_sharded)


def plain_sharded(_, steps):
    return plain(_, steps, make=make_sharded)


class FsdpTest(unittest.TestCase):
    def test_training_stays_the_same_to_the_bit(self):
        expected = run_ranks(plain_sharded, STEPS)
        for changes in ({0: {FORWARD: 2}}, {3: {BACKWARD: 3}, 5: {}}, {4: {RESHARD: "off"}, 7: {}},
                        {1: {FORWARD: 3, BACKWARD: 2, RESHARD: "off"}, 6: {FORWARD: 1}}):
            with self.subTest(changes=changes):
                self.assertEqual([losses for losses, _ in run_ranks(train, changes)], expected)

    def test_as_many_modules_are_gathered_ahead(self):
        for ahead in (0, 1, 3):
            with self.subTest(ahead=ahead):
                (_, gathers), _ = run_ranks(train, {4: {FORWARD: ahead}}, True)
                before_first = gathers[:gathers.index(("forward", 0))]
                self.assertEqual(before_first, [("gather", i) for i in range(ahead + 1)])

    def test_parameters_are_kept_after_forward(self):
        for word, times in (("on", 2), ("off", 1)):
            (_, gathers), _ = run_ranks(train, {4: {RESHARD: word}}, True)
            self.assertEqual(gathers.count(("gather", 3)), times)

    def test_what_the_program_has_set_is_no_knob(self):
        self.assertEqual(run_ranks(knobs)[0], USUAL)
        with self.subTest("kept"):
            (found, _) = run_ranks(knobs, False)
            self.assertEqual(found, USUAL | {RESHARD: "off"})
        (found, _) = run_ranks(knobs, True, True)
        self.assertEqual(found, {BACKWARD: 0, RESHARD: "on"})

    def test_modules_that_the_program_keeps_are_kept(self):
        self.assertEqual(run_ranks(knobs_with_kept_tail)[0], USUAL)
        expected = run_ranks(plain_sharded, STEPS)
        for word, times in (("on", 2), ("off", 1)):
            changes = {1: {FORWARD: 3, BACKWARD: 2, RESHARD: "off"}, 4: {RESHARD: word}}
            results = run_ranks(train, changes, True, make_with_kept_tail)
            self.assertEqual([losses for losses, _ in results], expected)
            gathers = results[0][1]
            self.assertEqual(gathers.count(("gather", 0)), times)
            self.assertEqual(gathers.count(("gather", LAYERS - 1)), 1)

    def test_memory_that_is_not_there_is_refused(self):
        for reasons in run_ranks(refused):
            self.assertIsNone(reasons["none"])
            self.assertIsNone(reasons["two more"])
            self.assertIn("MiB", reasons["all"])

    def test_candidates_are_tried_on_all_ranks_at_the_same_steps(self):
        with daemon() as served:
            results = run_ranks(explored, environment=served.environment)
        self.assertEqual(results[0][1], results[1][1])
        self.assertGreater(len({str(values) for values in results[0][1]}), 1)
        self.assertEqual([losses for losses, *_ in results],
                         run_ranks(plain_sharded, len(results[0][0])))


if __name__ == "__main__":
    unittest.main()
