"""How many steps share a ballot. Decides alone; whoever asks measures."""

import math
import statistics

MOST_SHARE = 0.003  # of an iteration's time
MOST_STEPS = 64
MEASURED = 16


class Cadence:
    """One step a ballot, until enough is measured to know how many keep within the share."""

    def __init__(self):
        self._costs, self._iterations = [], []
        self.steps = 1

    def add(self, cost_s, iteration_s):
        """Adds what a ballot cost the thread that trains, and what its iteration took."""
        if len(self._costs) == MEASURED:
            return
        self._costs.append(cost_s)
        self._iterations.append(iteration_s)
        if len(self._costs) == MEASURED:
            share = statistics.median(self._costs) / statistics.median(self._iterations)
            self.steps = min(max(math.ceil(share / MOST_SHARE), 1), MOST_STEPS)
