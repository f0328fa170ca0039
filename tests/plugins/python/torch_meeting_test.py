"""The meeting of the ranks, in every order of their calls of the store: of ranks that come, come
late, come twice, never come, give up, and end in the middle."""

import itertools
import random
import unittest

import torch.distributed as dist
from interleavings import every_sequence
from torch_ranks import run_ranks

from hocket.torch import meeting


class Store:
    def __init__(self):
        self.counters = {}

    def add(self, name, amount):
        self.counters[name] = self.counters.get(name, 0) + amount
        return self.counters[name]


class Rank:
    """One that meets the others, on a clock of its own, which the test sets."""

    def __init__(self, store, rank, size):
        self.clock, self.taken, self.has_ended, self.answer = 0.0, 0, False, "under way"
        self.may_jump_at = 4  # steps: its limit is set by then
        self._store, self._rank = store, rank
        self._size, self._steps = size, meeting.steps(store, rank, size, 1.0, lambda: self.clock)

    def step(self):
        """Takes a step. Returns whether it only waited."""
        self.taken += 1
        try:
            return next(self._steps)
        except StopIteration:
            self.answer = "all" if meeting.meet(self._decided(), self._rank, self._size, 0) is None \
                else "missing"
        except meeting.Undecided:
            self.answer = "undecided"
        self.has_ended = True
        return False

    def _decided(self):
        """The store as this rank has left it, to which it comes for the first time."""
        left = Store()
        left.counters = {"verdict": self._store.counters["verdict"]}
        return left


# An event is a rank's step, or a jump of its clock beyond its limit.
STEP, JUMP = "step", "jump"


def run(size, present, choose, ends=(), twice=()):
    """Runs the ranks that are present, as `choose(count)` says which event comes next; returns
    their answers. `ends`: pairs of a rank and how many steps it takes before it ends."""
    store = Store()
    ranks = {rank: Rank(store, rank, size) for rank in present}
    again = [Rank(store, rank, size) for rank in twice]
    left = dict(ends)
    # Only where a rank ends do the others wait longer than for the verdict, which is kept away.
    jump_s = 2 * meeting.LONGEST_VERDICT_S if ends else 2.0
    jumps = {id(rank): 2 for rank in ranks.values()}
    for _ in range(400):
        events = []
        for number, rank in itertools.chain(ranks.items(), ((None, each) for each in again)):
            if rank.has_ended or left.get(number, 1) <= 0:
                continue
            events.append((STEP, number, rank))
            if rank.taken >= rank.may_jump_at and jumps.get(id(rank), 0) > 0:
                events.append((JUMP, number, rank))
        if not events:
            break
        kind, number, rank = events[choose(len(events))]
        if kind == JUMP:
            jumps[id(rank)] -= 1
            rank.clock += jump_s
            rank.may_jump_at = rank.taken + 5
        elif not rank.step() and number in left:
            left[number] -= 1
    return {number: rank.answer for number, rank in ranks.items()}, [each.answer for each in again]


def every_run(size, present, most, **options):
    return every_sequence(lambda choose: run(size, present, choose, **options), most)


class MeetingTest(unittest.TestCase):
    def check(self, answers):
        said = set(answers.values()) - {"undecided"}
        self.assertLessEqual(len(said), 1, answers)
        self.assertNotIn("under way", said, answers)
        return said

    def test_two_ranks_that_come_agree(self):
        seen = set()
        for answers, _ in every_run(2, [0, 1], 12):
            self.assertNotIn("undecided", answers.values())
            seen |= self.check(answers)
        self.assertEqual(seen, {"all", "missing"})

    def test_who_never_comes_is_missed(self):
        for answers, _ in every_run(3, [0, 2], 10):
            self.assertEqual(set(answers.values()), {"missing"})

    def test_who_comes_twice_counts_once(self):
        for answers, again in every_run(3, [0, 1], 6, twice=[1]):
            self.assertNotIn("all", answers.values())
            self.assertNotIn("all", again)

    def test_three_ranks_agree_in_random_orders(self):
        for seed in range(1500):
            generator = random.Random(seed)
            answers, _ = run(3, [0, 1, 2], generator.randrange)
            with self.subTest(seed=seed):
                self.check(answers)

    def test_of_ranks_that_end_in_the_middle_the_others_agree_or_do_not_know(self):
        for seed in range(1500):
            generator = random.Random(seed)
            ends = [(generator.randrange(3), generator.randrange(1, 7))]
            answers, _ = run(3, [0, 1, 2], generator.randrange, ends=ends)
            answers.pop(ends[0][0])
            with self.subTest(seed=seed):
                self.check(answers)

    def test_a_real_store_is_one(self):
        self.assertEqual(run_ranks(_meet, count=3), [[None, [2]], [None, [2]], [None, None]])


def _meet(rank):
    store = dist.distributed_c10d._get_default_store()
    found = [meeting.meet(dist.PrefixStore("a", store), rank, 3, 60)]
    if rank < 2:
        found.append(meeting.meet(dist.PrefixStore("b", store), rank, 3, 0.1))
    else:
        found.append(None)
    dist.barrier()
    return found


if __name__ == "__main__":
    unittest.main()
