"""hocket.agree() in jobs of two and three ranks that measure different winners, and kernels of
Triton: of the real one where it can be imported, else of a stand-in that has what Triton's
Autotuner has."""

import contextlib
import os
import tempfile
import time
import unittest

import torch
import torch.distributed as dist
from torch_ranks import log_lines, run_ranks

import hocket
from hocket import agreement

try:
    import triton
except ImportError:
    triton = None

CANDIDATES = ("a", "b", "c")


def measure_on(rank, measured=None):
    """Returns a measurement by which each rank has another winner."""
    def measure(candidate):
        if measured is not None:
            measured.append(candidate)
        return 1.0 if candidate == CANDIDATES[rank % len(CANDIDATES)] else 2.0 + ord(candidate)
    return measure


def choose(rank, by, keys=("key",)):
    measured, found = [], {}
    for key in keys if rank == 0 else reversed(keys):
        found[key] = hocket.agree(key, CANDIDATES, measure_on(rank, measured), by=by)
    return [found[key] for key in keys], bool(measured)


def in_groups(rank):
    """Ranks 1 and 2 agree, and ranks 0 and 1, without rank 0 or 2 for anything of the other's. What one has stored is not another's."""
    os.environ["XDG_CACHE_HOME"] += f"/{rank}"
    groups = [dist.new_group(ranks) for ranks in ([1, 2], [0, 1])]
    found = [hocket.agree("key", CANDIDATES, measure_on(rank), group=group)
             if rank in dist.distributed_c10d.get_process_group_ranks(group) else None
             for group in groups]
    dist.barrier()
    return found


def without_rank_0(rank):
    lines, found = log_lines(), []
    if rank > 0:
        found.append(hocket.agree("key", CANDIDATES, measure_on(rank), longest_s=0.2))
    dist.barrier()
    found.append(hocket.agree("key", CANDIDATES, measure_on(rank), longest_s=0.2))
    found.append(hocket.agree("another", CANDIDATES, measure_on(1)))
    return found, [line for line in lines if "no agreement" in line]


def with_other_candidates(rank):
    try:
        return hocket.agree("key", CANDIDATES if rank < 2 else CANDIDATES[::-1], measure_on(rank),
                            longest_s=30)
    except hocket.Error as error:
        return str(error)


def over_tcp(rank):
    """As choose(), over the store that most jobs have."""
    shared = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, 3, True, wait_for_workers=False)
        shared.set("port", str(store.port))
    else:
        store = dist.TCPStore("127.0.0.1", int(shared.get("port")), 3, False)
    verdicts = []
    for by in agreement.WAYS:
        times = list(map(measure_on(rank), CANDIDATES))
        part = agreement.Part(rank, 3, by, "digest", 3, 60, lambda: None, lambda times=times: times)
        verdicts.append(agreement.take_part(dist.PrefixStore(by, store), part))
    dist.barrier()
    return verdicts


class Config:
    def __init__(self, block):
        self.kwargs = {"BLOCK": block}

    def __str__(self):
        return f"BLOCK: {self.kwargs['BLOCK']}"


class StandIn:
    """What triton.autotune makes, as far as it chooses a configuration."""

    def __init__(self, configs, bench):
        self.configs, self.cache, self.cache_results = configs, {}, True
        self.do_bench, self.log = bench, []

    def prune_configs(self, named):
        return [each for each in self.configs if each.kwargs["BLOCK"] <= named["most"]]

    def _bench(self, *arguments, config, **named):
        return self.do_bench(lambda: self.log.append(config), quantiles=(0.5, 0.2, 0.8))

    def run(self, *arguments, **named):
        key = arguments[:1]
        if key not in self.cache:
            pruned = self.prune_configs(named)
            timings = {each: self._bench(*arguments, config=each, **named) for each in pruned}
            self.cache[key] = min(timings, key=timings.get)
            self.log.append("reset")
        self.best_config = self.cache[key]
        return self.best_config.kwargs["BLOCK"]

    def warmup(self, **named):
        return self.prune_configs(named)


def tune_stand_in(rank):
    times, benched = {16: (1, 5), 32: (2, 1), 64: (3, 3)}, []

    def bench(call, quantiles):
        call()
        benched.append(kernel.log[-1].kwargs["BLOCK"])
        return [times[benched[-1]][rank]] * 3
    kernel = hocket.agreed_kernel(StandIn([Config(block) for block in times], bench), by="rank 0")
    found = [kernel.run(n, most=64) for n in (1, 1, 2)] + [kernel.run(3, most=32)]
    return found, benched, kernel.log.count("reset"), len(kernel.warmup(most=64))


def prune_otherwise(rank):
    lines = log_lines()
    kernel = hocket.agreed_kernel(StandIn([Config(16), Config(32)], lambda *_, **__: [1] * 3))
    dist.barrier()
    kernel.run(1, most=32 - 16 * rank)
    return [line for line in lines if "each rank takes its first" in line]


def tune_triton(rank):
    """Runs an Autotuner whose kernel does nothing, since there may be no device."""
    ran, benched = [], []

    def bench(call, quantiles):
        call()
        benched.append(ran[-1])
        return [float((ran[-1] == 32) == (rank == 1))] * 3

    def body(x, n, BLOCK):
        pass
    kernel = triton.runtime.autotuner.Autotuner(
        triton.jit(body), ["x", "n", "BLOCK"], [triton.Config({"BLOCK": b}) for b in (16, 32, 64)],
        ["n"], None, None, do_bench=bench)
    kernel.fn.run = lambda *_, BLOCK, **__: ran.append(BLOCK)
    kernel = hocket.agreed_kernel(kernel, by="rank 0")
    x = torch.zeros(1)
    for n in (1, 1, 2):
        kernel.run(x, n, grid=(1,), warmup=False)
    return [each.kwargs["BLOCK"] for each in kernel.cache.values()], benched


@contextlib.contextmanager
def caches():
    with tempfile.TemporaryDirectory() as folder:
        yield {"XDG_CACHE_HOME": folder}


class RanksTest(unittest.TestCase):
    def ranks(self, function, *arguments, count=2, environment=None):
        with caches() as own:
            return run_ranks(function, *arguments, count=count, environment=environment or own)


class AgreeTest(RanksTest):
    def test_all_ranks_take_one_though_each_measures_another(self):
        for count in (2, 3):
            for by in agreement.WAYS:
                with self.subTest(count=count, by=by):
                    found = self.ranks(choose, by, count=count)
                    choices = {choice for (choice,), _ in found}
                    self.assertEqual(len(choices), 1, found)
                    self.assertEqual(sum(measured for _, measured in found),
                                     count if by == "median" else 1)
                    if by == "rank 0":
                        self.assertEqual(choices, {"a"})

    def test_keys_may_come_in_any_order(self):
        for by in ("rank 0", "first"):
            keys = [f"key {number}" for number in range(20)]
            found = self.ranks(choose, by, keys, count=3)
            self.assertEqual(found[0][0], found[1][0])
            self.assertEqual(found[0][0], found[2][0])

    def test_the_next_job_takes_the_stored_choice(self):
        with caches() as own:
            first = self.ranks(choose, "median", count=3, environment=own)
            for by in agreement.WAYS:
                again = self.ranks(choose, by, count=3, environment=own)
                self.assertEqual(again, [(choice, False) for choice, _ in first])
            self.assertTrue(any(measured for _, measured in self.ranks(choose, "first",
                                                                       environment=own)))

    def test_subgroups(self):
        self.assertEqual(self.ranks(in_groups, count=3), [[None, "a"], ["b", "a"], ["b", None]])

    def test_a_rank_that_comes_too_late_takes_the_first_candidate_as_the_others_do(self):
        start = time.monotonic()
        found = self.ranks(without_rank_0, count=3)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual([choices for choices, _ in found], [["a", "b"], ["a", "a", "b"],
                                                             ["a", "a", "b"]])
        for _, lines in found:
            self.assertRegex(lines[0], "rank [12] waited 0.2 s for rank 0")

    def test_other_candidates_are_refused_with_a_message(self):
        found = self.ranks(with_other_candidates, count=3)
        self.assertRegex(found[2], "rank [0-2] has other candidates than rank [0-2]; give every")
        # The first to come sets the candidates: if that is rank 2, the other two are refused.
        self.assertEqual(found[0] == "a", found[1] == "a", found)

    def test_over_tcp(self):
        found = self.ranks(over_tcp, count=3)
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertEqual({verdict.kind for verdict in found[0]}, {agreement.WINNER})


class KernelTest(RanksTest):
    def test_kernels_of_a_stand_in(self):
        found = self.ranks(tune_stand_in)
        for choices, _, resets, warm in found:
            self.assertEqual((choices, resets, warm), ([16, 16, 16, 16], 3, 3))
        self.assertEqual([benched for _, benched, *_ in found],
                         [[16, 32, 64, 16, 32, 64, 16, 32], []])

    def test_ranks_that_prune_otherwise_take_their_first(self):
        self.assertIn(1, map(len, self.ranks(prune_otherwise)))

    def test_what_is_no_kernel_is_refused(self):
        with self.assertRaisesRegex(TypeError, "triton.autotune"):
            hocket.agreed_kernel(len)

    @unittest.skipIf(triton is None, "Triton is not installed")
    def test_kernels_of_triton(self):
        for choices, benched in self.ranks(tune_triton):
            self.assertEqual(choices, [32, 32])
        self.assertEqual(benched, [])


if __name__ == "__main__":
    unittest.main()
