"""How many steps share a ballot: as few as keep its cost within the share."""

import random
import unittest

from hocket.torch.cadence import MEASURED, MOST_SHARE, MOST_STEPS, Cadence


def measured(share, count=MEASURED, iteration_s=0.01):
    """Returns a cadence after `count` ballots, each of this share of its iteration."""
    cadence = Cadence()
    for _ in range(count):
        cadence.add(share * iteration_s, iteration_s)
    return cadence


class CadenceTest(unittest.TestCase):
    def test_each_step_has_a_ballot_until_enough_is_measured(self):
        for count in range(MEASURED):
            self.assertEqual(measured(0.1, count).steps, 1)
        self.assertGreater(measured(0.1, MEASURED).steps, 1)

    def test_as_few_steps_as_keep_within_the_share(self):
        seed = random.randrange(1 << 32)
        choose = random.Random(seed)
        for _ in range(1000):
            share = MOST_SHARE * choose.uniform(0.01, MOST_STEPS)
            steps = measured(share, iteration_s=choose.uniform(1e-4, 10)).steps
            with self.subTest(seed=seed, share=share, steps=steps):
                self.assertLessEqual(share / steps, MOST_SHARE * (1 + 1e-9))
                if steps > 1:
                    self.assertGreater(share / (steps - 1), MOST_SHARE * (1 - 1e-9))

    def test_the_share_and_the_limits(self):
        # A ballot of 50 microseconds: at most 0.3 % of the time.
        for iteration_s, steps in ((1.0, 1), (0.02, 1), (0.01, 2), (0.001, 17), (1e-5, 64)):
            with self.subTest(iteration_s=iteration_s):
                self.assertEqual(measured(50e-6 / iteration_s, iteration_s=iteration_s).steps,
                                 steps)

    def test_a_ballot_that_costs_nothing(self):
        self.assertEqual(measured(0.0).steps, 1)

    def test_outliers_do_not_count(self):
        for cost_s, iteration_s in ((1.0, 0.01), (1e-6, 100.0)):
            cadence = Cadence()
            for i in range(MEASURED):
                cadence.add(*((cost_s, iteration_s) if i % 3 == 0 else (1e-4, 0.01)))
            self.assertEqual(cadence.steps, measured(0.01).steps)

    def test_what_was_found_stays(self):
        cadence = measured(0.01)
        before = cadence.steps
        for _ in range(10 * MEASURED):
            cadence.add(1.0, 1.0)
        self.assertEqual(cadence.steps, before)
        self.assertEqual(len(cadence._costs), MEASURED)  # and no more is kept


if __name__ == "__main__":
    unittest.main()
