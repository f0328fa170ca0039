"""When crossing ends because the program uses everything too early."""

import unittest

from torch_ranks import log_lines

from hocket.torch.early_uses import MOST_TOLD, STRIKES, EarlyUses


class EarlyUsesTest(unittest.TestCase):
    def ends(self, iterations):
        """Returns the reasons after iterations, of each what is used and whether anything is
        left."""
        uses, found = EarlyUses(), []
        for reasons, is_anything_left in iterations:
            for reason in reasons:
                uses.note(reason)
            found.append(uses.iteration_ended(is_anything_left))
        return found

    def test_iterations_in_a_row_in_which_nothing_is_left(self):
        self.assertEqual(self.ends([([1], False)] * STRIKES), [0] * (STRIKES - 1) + [1])

    def test_what_is_left_goes_on_crossing(self):
        self.assertEqual(set(self.ends([([1], True)] * 20)), {0})

    def test_one_iteration_that_gains_is_enough(self):
        for good in (([], True), ([1], True), ([], False)):
            rounds = ([([1], False)] * (STRIKES - 1) + [good]) * 5
            self.assertEqual(set(self.ends(rounds)), {0})

    def test_the_first_use_is_the_reason(self):
        self.assertEqual(self.ends([([2, 1], False)] * STRIKES)[-1], 2)

    def test_says_where_it_waits_once_for_each_line(self):
        lines, uses = log_lines(), EarlyUses()
        for _ in range(5):
            exec(compile("uses.note(1, 'a detail')", "/train.py", "exec"), {"uses": uses})
            uses.iteration_ended(False)
        self.assertEqual(lines, ["hocket: what crosses the barrier between iterations is waited "
                                 "for at /train.py:1"])
        self.assertEqual(uses.where, "a detail, /train.py:1")
        for number in range(2 * MOST_TOLD):
            exec(compile("uses.note(1)", f"/program{number}.py", "exec"), {"uses": uses})
            uses.iteration_ended(True)
        self.assertEqual(len(lines), MOST_TOLD)


if __name__ == "__main__":
    unittest.main()
