"""Agreements without PyTorch: the protocol in every order of the ranks' calls of the store, of ranks
that come, come late, come twice, never come, give up, and end in the middle; stored choices; and the
wrappers, for one rank."""

import json
import math
import os
import random
import tempfile
import unittest
from unittest import mock

from interleavings import every_sequence

import hocket
from hocket import agreement
from hocket.agreement import FALLBACK, FIRST, MEDIAN, RANK_0, REFUSED, WINNER
from hocket.choices import Choice

COUNT = 3  # of candidates
JUMP_S = 2.0  # beyond the limit, which is 1 s


class Store:
    """As PyTorch's stores do it."""

    def __init__(self):
        self.values = {}

    def compare_set(self, name, expected, desired):
        if name not in self.values and expected:
            return expected.encode()
        if self.values.get(name, expected) == expected:
            self.values[name] = desired
        return self.values[name].encode()

    def add(self, name, amount):
        self.values[name] = self.values.get(name, 0) + amount
        return self.values[name]


class Rank:
    """One that takes part, on a clock of its own, which the test sets. It finds fastest the
    candidate of its own number."""

    def __init__(self, store, rank, size, by, digest="same", stored=None):
        self.clock, self.verdict = 0.0, None
        self.taken = self.waits = self.measured = 0
        self.part = agreement.Part(rank, size, by, digest, COUNT, 1.0, lambda: stored,
                                   self._measure)
        self._steps = agreement.steps(store, self.part, lambda: self.clock)

    def _measure(self):
        self.measured += 1
        return [0.5 if each == self.part.rank else 1.0 for each in range(COUNT)]

    def step(self):
        """Takes a step. Returns whether it only waited."""
        self.taken += 1
        try:
            is_waiting = next(self._steps)
        except StopIteration as ended:
            self.verdict = agreement._verdict_of(ended.value, COUNT)
            return False
        self.waits += is_waiting
        return is_waiting


def run(choose, ranks, ends=()):
    """Lets the ranks go on, as `choose(count)` says which one takes the next step, or has its clock
    jump beyond its limit, until all that have not ended know the verdict; choice 0 lets them take
    turns. `ends`: of each rank, by its place, how many steps it takes."""
    left = dict(ends)
    for _ in range(400):
        events = []
        for place, rank in enumerate(ranks):
            if rank.verdict is not None or left.get(place, 1) <= 0:
                continue
            events.append((rank.taken, place, False))
            if rank.waits:
                # The others have had their turns.
                events.append((-1 if rank.waits > 12 else math.inf, place, True))
        if not events:
            return ranks
        _, place, is_jump = sorted(events)[choose(len(events))]
        rank = ranks[place]
        if is_jump:
            rank.clock, rank.waits = rank.clock + JUMP_S, 0
        elif not rank.step() and place in left:
            left[place] -= 1
    raise AssertionError("they do not come to an end")


class AgreementTest(unittest.TestCase):
    def check(self, ranks, kinds=(WINNER, FALLBACK)):
        """Checks that all that have a verdict have one; returns it."""
        verdicts = {rank.verdict for rank in ranks if rank.verdict is not None}
        self.assertLessEqual(len(verdicts), 1)
        for verdict in verdicts:
            self.assertIn(verdict.kind, kinds)
        return verdicts.pop() if verdicts else None

    def every(self, make, most, **options):
        """Yields the ranks of each run."""
        return every_sequence(lambda choose: run(choose, make(Store()), **options), most,
                              then=lambda *_: 0)

    def test_two_ranks_agree_in_every_order(self):
        for by, most in ((RANK_0, 14), (FIRST, 14), (MEDIAN, 12)):
            kinds = set()
            for ranks in self.every(lambda store, by=by: [Rank(store, r, 2, by) for r in (0, 1)],
                                    most):
                verdict = self.check(ranks)
                kinds.add(verdict.kind)
                if all(rank.clock == 0 for rank in ranks):
                    self.assertEqual(verdict.kind, WINNER)
                if by == RANK_0:
                    self.assertEqual(verdict.index, 0)
                    self.assertEqual(ranks[1].measured, 0)
                if by == FIRST:
                    self.assertEqual(ranks[0].measured + ranks[1].measured, 1)
            self.assertEqual(kinds, {WINNER, FALLBACK}, by)

    def test_by_first_nobody_waits_for_a_rank_that_has_not_come(self):
        for rank in range(3):
            store = Store()
            run(lambda count: 0, [alone := Rank(store, rank, 3, FIRST)])
            self.assertEqual((alone.verdict.kind, alone.verdict.index, alone.clock),
                             (WINNER, rank, 0.0))
            run(lambda count: 0, [late := Rank(store, 2 - rank, 3, FIRST)])
            self.assertEqual(late.verdict, alone.verdict)

    def test_who_comes_after_the_others_gave_up_takes_what_they_took(self):
        for by in (RANK_0, MEDIAN):
            for others in ([1, 2], [1, 1]):
                for early in self.every(lambda store, by=by, others=others: [
                        Rank(store, rank, 3, by) for rank in others], 8):
                    self.assertEqual(self.check(early).kind, FALLBACK)

    def test_rank_0_that_comes_late_is_told_so(self):
        store = Store()
        run(lambda count: count - 1, [early := Rank(store, 1, 2, RANK_0)])
        run(lambda count: 0, [late := Rank(store, 0, 2, RANK_0)])
        self.assertEqual((early.verdict.kind, late.verdict), (FALLBACK, early.verdict))
        self.assertEqual(late.measured, 0)

    def test_who_comes_twice_gets_the_same(self):
        for by in (RANK_0, FIRST, MEDIAN):
            for ranks in self.every(lambda store, by=by: [Rank(store, r, 2, by) for r in (0, 1, 1)],
                                    9):
                self.check(ranks)
        store = Store()
        run(lambda count: 0, [Rank(store, 1, 2, MEDIAN), Rank(store, 1, 2, MEDIAN),
                              Rank(store, 0, 2, MEDIAN)])
        self.assertEqual(store.values["verdict"], "winner 0 measured by all ranks")

    def test_three_ranks_agree_in_random_orders_though_some_end(self):
        kinds = set()
        for seed in range(6000):
            generator = random.Random(seed)
            by = generator.choice((RANK_0, FIRST, MEDIAN))
            store = Store()
            ranks = [Rank(store, rank, 3, by, stored=generator.choice((None, None, 2)))
                     for rank in (0, 1, 2, generator.randrange(3))]
            ends = {place: generator.randrange(9) for place in range(4) if generator.random() < 0.2}
            with self.subTest(seed=seed, by=by):
                verdict = self.check(run(generator.randrange, ranks, ends))
            kinds.add(verdict and verdict.kind)
        self.assertLessEqual({WINNER, FALLBACK}, kinds)

    def test_a_stored_choice_is_taken_and_nobody_measures(self):
        for by in (RANK_0, FIRST, MEDIAN):
            for ranks in self.every(lambda store, by=by: [
                    Rank(store, rank, 2, by, stored=2) for rank in (0, 1)], 9):
                verdict = self.check(ranks)
                self.assertEqual(sum(rank.measured for rank in ranks), 0)
                self.assertEqual(verdict.index, 2 if verdict.kind == WINNER else 0)

    def test_other_candidates_are_refused(self):
        for by in (RANK_0, FIRST, MEDIAN):
            seen = set()
            for ranks in self.every(lambda store, by=by: [
                    Rank(store, 0, 2, by), Rank(store, 1, 2, by, "other")], 9):
                self.assertIn(REFUSED, [rank.verdict.kind for rank in ranks])
                seen |= {rank.verdict.why for rank in ranks if rank.verdict.kind == REFUSED}
            self.assertEqual(seen, {"rank 0 has other candidates than rank 1",
                                    "rank 1 has other candidates than rank 0"}, by)

    def test_medians_decide_and_a_candidate_that_fails_on_one_rank_is_none(self):
        store, times = Store(), [[1.0, 2.0, 0.1], [4.0, 3.0, 0.1], [4.0, 3.0, math.inf]]
        ranks = [Rank(store, rank, 3, MEDIAN) for rank in range(3)]
        for rank, own in zip(ranks, times):
            part = rank.part._replace(measure=lambda own=own: own)
            rank._steps = agreement.steps(store, part, lambda rank=rank: rank.clock)
        run(lambda count: 0, ranks)
        self.assertEqual(self.check(ranks), (WINNER, 1, "measured by all ranks"))

    def test_a_measurement_that_is_interrupted_ends_the_others_wait(self):
        store = Store()

        def interrupted():
            raise KeyboardInterrupt
        part = Rank(store, 0, 2, RANK_0).part._replace(measure=interrupted)
        with self.assertRaises(KeyboardInterrupt):
            agreement.take_part(store, part)
        other = agreement.take_part(store, Rank(store, 1, 2, RANK_0).part)
        self.assertEqual(other, (FALLBACK, 0, "rank 0 did not measure to the end"))

    def test_a_verdict_that_is_none_is_no_agreement_for_all(self):
        for text in ("", "winner", "winner 3 x", "winner -1 x", "winner 1e0 x", "winner ² x",
                     "winner " + "9" * 5000, "loser 1 x", "fallback", "\x1b[31m"):
            verdict = agreement._verdict_of(text, COUNT)
            self.assertEqual((verdict.kind, verdict.index), (FALLBACK, 0), text)
        self.assertEqual(agreement._verdict_of("refused 0 \x1b[31m", COUNT).why, "\\x1b[31m")
        for text in (None, "", "[1]", "[1,2,3,4]", '["1",2,3]', "{}", "[" * 5000, "3"):
            self.assertEqual(agreement._times_of(text, COUNT), [math.inf] * COUNT, text)
        self.assertEqual(agreement._times_of("[1, NaN, -1]", COUNT), [1.0, math.inf, math.inf])


class OneRank(unittest.TestCase):
    """What a rank does that is alone, with a cache folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = folder.name
        variables = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": self.cache, "WORLD_SIZE": "1"})
        variables.start()
        self.addCleanup(variables.stop)

    def agree(self, key="key", candidates=("a", "b", "c"), times=(3, 1, 2), **options):
        """Returns the choice, and which candidates were measured."""
        measured = []

        def measure(candidate):
            measured.append(candidate)
            return times[list(candidates).index(candidate)]
        return hocket.agree(key, candidates, measure, **options), measured

    def only_file(self):
        names = os.listdir(os.path.join(self.cache, "hocket", "choices"))
        self.assertEqual(len(names), 1, names)
        return os.path.join(self.cache, "hocket", "choices", names[0])


class ChoiceTest(OneRank):
    def test_a_choice_is_kept_for_later_jobs_of_this_key_and_these_versions(self):
        self.assertEqual(self.agree(), ("b", ["a", "b", "c"]))
        self.assertEqual(self.agree(times=(1, 2, 3)), ("b", []))
        self.assertEqual(self.agree(times=(1, 2, 3), key="other")[0], "a")
        self.assertEqual(self.agree(times=(1, 2, 3), versions={"kernels": 2})[0], "a")
        self.assertEqual(self.agree(times=(1, 2), candidates=("a", "b"))[0], "a")

    def test_a_file_is_as_if_absent_unless_it_chooses_one_of_the_candidates(self):
        self.agree()
        file = self.only_file()
        with open(file) as opened:
            good = json.load(opened)
        self.assertEqual(oct(os.stat(file).st_mode & 0o777), "0o600")
        for bad in (good | {"candidate": "1: z"}, good | {"candidate": ["1: 'b'"]},
                    good | {"key": "other"}, good | {"version": 2}, good | {"more": 1},
                    {k: v for k, v in good.items() if k != "environment"}, [], "1: 'b'", None):
            with open(file, "w") as opened:
                json.dump(bad, opened)
            self.assertEqual(self.agree(times=(1, 2, 3)), ("a", ["a", "b", "c"]), bad)
        generator, text = random.Random(0), json.dumps(good).encode()
        for _ in range(300):
            damaged = bytearray(text)
            for _ in range(generator.randrange(1, 4)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            with open(file, "wb") as opened:
                opened.write(damaged[:generator.randrange(len(damaged) + 1)])
            choice = Choice("key", ["0: 'a'", "1: 'b'", "2: 'c'"], good["environment"])
            self.assertIn(choice.read(), (None, 1))

    def test_what_others_could_have_written_is_not_read(self):
        self.agree()
        self.assertEqual(self.agree()[1], [])
        file, folder = self.only_file(), os.path.dirname(self.only_file())
        for path, mode, usual in ((file, 0o620, 0o600), (folder, 0o702, 0o700)):
            os.chmod(path, mode)
            self.assertEqual(len(self.agree()[1]), 3)
            os.chmod(path, usual)
            self.assertEqual(self.agree()[1], [])
        target = os.path.join(self.cache, "target")
        os.replace(file, target)
        os.symlink(target, file)
        self.assertEqual(len(self.agree()[1]), 3)
        os.unlink(file)
        os.mkfifo(file)
        self.assertEqual(len(self.agree()[1]), 3)

    def test_a_folder_that_cannot_be_made_costs_the_stored_choice_alone(self):
        with open(os.path.join(self.cache, "hocket"), "w"):
            pass
        self.assertEqual(self.agree()[0], "b")
        with mock.patch.dict(os.environ):
            del os.environ["XDG_CACHE_HOME"]
            os.environ.pop("HOME", None)
            self.assertEqual(self.agree()[0], "b")


class AgreeTest(OneRank):
    def test_a_candidate_that_fails_is_not_chosen(self):
        self.assertEqual(self.agree(times=(2, math.nan, -1))[0], "a")
        self.assertEqual(hocket.agree("fails", [0, 1, 2], lambda each: 1 / each), 2)
        with self.assertLogs("hocket", "WARNING") as log:
            self.assertEqual(hocket.agree("all", [3, 4], lambda each: each / 0), 3)
        self.assertIn("no candidate ran", log.output[0])

    def test_arguments_that_differ_among_ranks_are_refused(self):
        for key, candidates, options in (
                (object(), [1], {}), ("", [1], {}), ("key", [object()], {}), ("key", [], {}),
                ("key", [1], {"by": "rank 1"})):
            with self.assertRaisesRegex(ValueError, "agree"):
                hocket.agree(key, candidates, float, **options)
        hocket.agree("key", [object()], lambda each: 1, describe=lambda each: "one")

    def test_without_a_process_group_ranks_of_a_job_take_the_first(self):
        with mock.patch.dict(os.environ, {"WORLD_SIZE": "2"}), self.assertLogs("hocket") as log:
            self.assertEqual(self.agree(), ("a", []))
        self.assertIn("not initialized", log.output[0])

    def test_a_function_with_a_cache(self):
        calls = []

        @hocket.agreed(lambda shape: [1, 2, shape])
        def best_tile(shape):
            """Its own words."""
            calls.append(shape)
            return 2
        self.assertEqual([best_tile(8), best_tile(8), best_tile(9)], [2, 2, 2])
        self.assertEqual((calls, len(best_tile.cache)), ([8, 9], 2))
        self.assertEqual(best_tile.__doc__, "Its own words.")

    def test_a_function_that_chooses_nothing_takes_the_first(self):
        for answer in (lambda: 5, lambda: 1 / 0):
            chosen = hocket.agreed([7, 8], key=lambda: str(id(answer)))(answer)
            with self.assertLogs("hocket", "WARNING"):
                self.assertEqual(chosen(), 7)
        with self.assertRaisesRegex(ValueError, "median"):
            hocket.agreed([1], by=MEDIAN)


if __name__ == "__main__":
    unittest.main()
