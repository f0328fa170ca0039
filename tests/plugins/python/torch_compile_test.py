"""Compiled models, with a backend that needs no compiler: a setting is taken before the first step,
then they are left alone."""

import json
import logging
import unittest

import torch
from torch.nn.parallel import DistributedDataParallel
from torch_daemon import daemon, hocket
from torch_net import STEPS, Net, one_step, optimizer_of
from torch_program import config
from torch_ranks import log_lines, run_ranks

import hocket.torch as tuning
from hocket.torch.buckets import KNOB, Buckets
from hocket.torch.crossing import Crossing

BACKEND = "aot_eager"
CAP = 262144


def whole(ddp):
    return torch.compile(ddp, backend=BACKEND)


def whole_in_place(ddp):
    ddp.compile(backend=BACKEND)
    return ddp


def inner(ddp):
    ddp.module = torch.compile(ddp.module, backend=BACKEND)
    return ddp


def inner_in_place(ddp):
    ddp.module.compile(backend=BACKEND, fullgraph=True)  # what hocket adds must not split it
    return ddp


def layers_in_place(ddp):
    for layer in ddp.module.layers:
        layer.compile(backend=BACKEND)
    return ddp


WHOLE = (whole, whole_in_place)
INNER = (inner, inner_in_place, layers_in_place)
WAYS = WHOLE + INNER


def wrapped(**options):
    ddp = DistributedDataParallel(Net(), **options)
    return ddp, optimizer_of(ddp)


def stored(rank, is_compiled):
    """Leaves a cap behind with which later jobs of this kind start."""
    ddp, optimizer = wrapped()
    model = whole(ddp) if is_compiled else ddp
    job = tuning.tune(model, optimizer, name="net")
    one_step(model, optimizer, 0)
    if rank == 0:
        key = job._client.key
        version = json.loads(hocket("push", key, "--set", f"job.{KNOB}={CAP}", "--json"))["version"]
        hocket("pin", key, "--version", str(version))
    job.close()


def plain(_, way):
    ddp, optimizer = wrapped()
    model = way(ddp)
    return [one_step(model, optimizer, step) for step in range(STEPS)]


def tuned(rank, way, compiled_at, schedule=False, ranks=(0, 1)):
    """Compiles on these ranks in this step, 0 being before tune(); returns the losses, the values
    at first and at last, the status, the log, and its warnings."""
    lines, warnings = log_lines(), log_lines(logging.WARNING)
    ddp, optimizer = wrapped()
    model = way(ddp) if compiled_at == 0 and rank in ranks else ddp
    job = tuning.tune(model, optimizer, schedule=schedule, name="net")
    losses, first = [], job.values
    for step in range(STEPS):
        if step == compiled_at and step > 0 and rank in ranks:
            model = way(ddp)
        losses.append(one_step(model, optimizer, step))
    status, last = job.status(), job.values
    job.close()
    return losses, first, last, status, list(lines), list(warnings)


def refusal(_):
    """Returns why a change is refused before and after the model is compiled."""
    ddp, _ = wrapped()
    subject = Buckets(ddp)
    before = subject.accept({KNOB: CAP})
    whole_in_place(ddp)
    return before, subject.accept({KNOB: CAP}), Buckets(ddp).knobs[0].running


def rebuilt(_, way, compiled_at):
    """Changes the buckets in every third step; returns the losses, the numbers of buckets, and how often
    something was compiled in the first half and in all."""
    ddp, optimizer = wrapped()
    if compiled_at == 0:
        ddp = way(ddp)
    subject, losses, sizes, compiled = Buckets(ddp), [], [], []
    for step in range(STEPS):
        if step == compiled_at and step > 0:
            way(ddp)
        values = {KNOB: CAP << step // 3 % 2}
        assert subject.accept(values) is None, subject.accept(values)
        subject.apply(values)
        losses.append(one_step(ddp, optimizer, step))
        sizes.append(len(subject.bucket_bytes()))
        compiled.append(sum(torch._dynamo.utils.counters["frames"].values()))
    return losses, sizes, compiled[STEPS // 2], compiled[-1]


def crossed(rank, way, compiled_at, ranks):
    """Returns the losses, how many buckets were pending at most, and why crossing has ended."""
    ddp, optimizer = wrapped(bucket_cap_mb=0.25)
    ddp.bucket_bytes_cap = 1 << 20  # with less, PyTorch does not compile it
    model = way(ddp) if compiled_at == 0 and rank in ranks else ddp
    crossing = Crossing(ddp, optimizer, config())
    losses, most = [], 0
    for step in range(STEPS):
        if step == compiled_at and step > 0 and rank in ranks:
            model = way(ddp)
        losses.append(one_step(model, optimizer, step))
        most = max(most, len(crossing._pending))
    crossing.close()
    return losses, most, crossing.off_reason


def each(rank, function, cases):
    results = []
    for case in cases:
        torch._dynamo.reset()
        results.append(function(rank, *case))
    return results


def run_cases(function, cases, **options):
    """Runs all cases in the same two processes, since starting them and loading the compiler takes
    most of the time. Returns the results of both ranks for each case."""
    return zip(*run_ranks(each, function, cases, **options), strict=True)


@unittest.skipIf(torch.__version__.startswith("1."), "torch.compile is newer")
class CompileTest(unittest.TestCase):
    def compare(self, results, way, known={}):  # noqa: B006
        if not known:
            for its, result in zip(WAYS, run_cases(plain, [(way,) for way in WAYS]), strict=True):
                known[its] = list(result)
        self.assertEqual([losses for losses, *_ in results], known[way])

    def test_a_stored_cap_is_taken_and_then_nothing_changes(self):
        with daemon() as served:
            for is_compiled in (False, True):
                run_ranks(stored, is_compiled, environment=served.environment)
            cases = [(way, compiled_at) for way in WAYS for compiled_at in (0, 4)]
            for (way, compiled_at), results in zip(
                    cases, run_cases(tuned, cases, environment=served.environment), strict=True):
                with self.subTest(way.__name__, compiled_at=compiled_at):
                    self.compare(results, way)
                    for _, first, last, status, *_ in results:
                        self.assertEqual((first, last), ({KNOB: CAP}, {KNOB: CAP}))
                        if compiled_at == 0 and way in WHOLE:
                            self.assertIn("not tuned: it is compiled together with Distributed", status)
                        elif way in INNER:
                            self.assertIn("tuned while it trains", status)
                            self.assertNotIn("not tuned", status)

    def test_compiled_while_it_is_tuned(self):
        cases = [(way, 4, False, ranks) for way in (whole, whole_in_place)
                 for ranks in ((0, 1), (1,))]
        with daemon() as served:
            all_results = list(run_cases(tuned, cases, environment=served.environment))
        for (way, _, _, ranks), results in zip(cases, all_results, strict=True):
            with self.subTest(way.__name__, ranks=ranks):
                self.compare(results, way)
                for _, _, _, status, lines, _ in results:
                    self.assertIn("not tuned", status)
                    self.assertEqual(sum("no longer" in line for line in lines), 1)
                # A rank warns besides rank 0 where it alone knows why.
                self.assertEqual([sum("no longer" in line for line in warnings)
                                  for *_, warnings in results], [1, int(ranks == (1,))])
                self.assertIn("it is compiled together with", results[1][3])

    def test_buckets_of_a_model_that_is_compiled_with_ddp_stay(self):
        for before, after, running in run_ranks(refusal):
            self.assertIsNone(before)
            self.assertIn("it is compiled together with", after)
            self.assertFalse(running)

    def test_buckets_around_compiled_modules_change_and_compile_nothing_anew(self):
        cases = [(way, compiled_at) for way in INNER for compiled_at in (0, 4)]
        for (way, compiled_at), results in zip(cases, run_cases(rebuilt, cases), strict=True):
            with self.subTest(way.__name__, compiled_at=compiled_at):
                self.compare([(losses,) for losses, *_ in results], way)
                for _, sizes, first, last in results:
                    self.assertGreater(len(set(sizes)), 1, sizes)
                    self.assertGreater(first, 0)
                    self.assertEqual(first, last)

    def compare_crossed(self, case, results):
        way, compiled_at, ranks = case
        with self.subTest(way.__name__, compiled_at=compiled_at, ranks=ranks):
            self.compare(results, way)
            for _, most, reason in results:
                self.assertIn("compiled", str(reason))
                self.assertEqual(most > 1, compiled_at > 0)

    def test_crossing_does_not_begin(self):
        cases = [(way, 0, (0, 1)) for way in WAYS] + [(inner, 0, (1,))]
        for case, results in zip(cases, run_cases(crossed, cases), strict=True):
            self.compare_crossed(case, results)

    def test_crossing_ends(self):
        # A process in which something was compiled does not cross again.
        for case in ((whole, 6, (0, 1)), (layers_in_place, 6, (0, 1)), (inner_in_place, 6, (1,))):
            self.compare_crossed(case, run_ranks(crossed, *case))

    def test_tuned_with_a_schedule(self):
        cases = [(whole_in_place, compiled_at, True) for compiled_at in (0, 6)]
        with daemon() as served:
            all_results = list(run_cases(tuned, cases, environment=served.environment))
        for (_, compiled_at, _), results in zip(cases, all_results, strict=True):
            with self.subTest(compiled_at=compiled_at):
                self.compare(results, whole_in_place)
                for *_, lines, _ in results:
                    self.assertTrue(any("not crossing" in line and "compiled" in line
                                        for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
