"""Iterations in which the program used what was to cross before the next forward pass began.

What is used is waited for by itself, and the rest goes on crossing. Where nothing is left to cross,
in several iterations in a row, crossing can gain nothing. One thread.
"""

import logging

from hocket.torch.program_line import program_line

STRIKES = 3  # iterations in a row
MOST_TOLD = 20

_log = logging.getLogger("hocket")


class EarlyUses:
    def __init__(self):
        self._first = None  # of this iteration: a reason's place among REASONS, and details
        self._told, self._in_a_row = set(), 0
        self.where = None  # the line of the program, for the last iteration without a gain

    def note(self, reason, detail=None):
        """Says that the program uses something now, or calls what does."""
        if self._first is not None:
            return
        line = program_line()
        self._first = reason, ", ".join(filter(None, (detail, line)))
        if line is not None and line not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(line)
            _log.info("hocket: what crosses the barrier between iterations is waited for at %s",
                      line)

    def iteration_ended(self, is_anything_left):
        """Returns the reason why crossing gains nothing, once that is so; else 0. For iterations
        that were to cross, when the next forward pass begins."""
        first, self._first = self._first, None
        if first is None or is_anything_left:
            self._in_a_row = 0
            return 0
        self._in_a_row += 1
        reason, self.where = first
        return reason if self._in_a_row >= STRIKES else 0
