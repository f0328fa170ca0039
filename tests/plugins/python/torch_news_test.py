"""What rank 0 says of a job: when the tuning begins, how it does, and nothing twice."""

import os
import unittest
from unittest import mock

from torch_ranks import log_lines

import hocket.torch
from hocket.client import Standing
from hocket.torch import news
from hocket.torch.news import News, numbers, progress_line

PROGRESS = {"iteration_ns": 182_060_000, "tried": 3, "kept": 1, "explored_share": 0.02}
BEGINS = "hocket: net: tuned while it trains, beginning with cap 4 MiB"


class FakeClient:
    def __init__(self):
        self.standing, self.why, self.known = Standing.ASKED, "", dict(PROGRESS)

    def daemon(self):
        return self.standing, self.why

    def progress(self):
        return self.known


class NewsTest(unittest.TestCase):
    def setUp(self):
        self.lines, self.client, self.time, self.step = log_lines(), FakeClient(), 0.0, 0
        self.news = self.made()
        self.addCleanup(news._listeners.clear)

    def made(self, is_searched=True):
        return News("net", "cap 4 MiB", is_searched, now=lambda: self.time)

    def steps(self, seconds=0.0, standing=None, why=""):
        """Ends a step so much later; returns the lines that are new."""
        had = len(self.lines)
        self.time += seconds
        self.step += 1
        if standing is not None:
            self.client.standing, self.client.why = standing, why
        self.news.step_ended(self.client, self.step, {"cap": 4 << 20, "order": "fifo"})
        return self.lines[had:]

    def test_the_beginning_is_said_once_the_daemon_has_answered(self):
        self.assertEqual(self.steps(), [])
        self.assertEqual(self.steps(standing=Standing.KNOWS), [BEGINS])
        self.assertEqual(self.steps(), [])
        self.news.ended()
        self.assertEqual(self.lines, [BEGINS])

    def test_a_daemon_that_is_away_is_said_with_the_reason_and_when_it_comes(self):
        self.assertEqual(self.steps(standing=Standing.AWAY, why="no token"), [
            "hocket: net: not tuned until the daemon takes the job: no token; it trains with cap "
            "4 MiB"])
        self.assertEqual(self.steps(standing=Standing.AWAY, why="no token"), [])
        self.assertEqual(self.steps(standing=Standing.KNOWS), [
            "hocket: net: step 3: the daemon knows the job again; tuned while it trains"])
        # The client itself warns of an outage.
        self.assertEqual(self.steps(standing=Standing.AWAY, why="it is down"), [])

    def test_a_job_that_ends_before_the_answer(self):
        self.steps()
        self.news.ended()
        self.assertEqual(self.lines,
                         ["hocket: net: not tuned: it ended before the daemon had answered"])

    def test_a_job_whose_key_has_been_searched_says_what_it_came_to(self):
        ended = "the search for its key has ended (tried 5, kept 2, on 2026-11-20)"
        self.news = News("net", "cap 4 MiB", True, ended, now=lambda: self.time)
        self.assertEqual(self.steps(standing=Standing.KNOWS),
                         [f"hocket: net: {ended}; it trains with cap 4 MiB"])

    def test_a_job_that_tries_nothing_says_so(self):
        self.news = self.made(is_searched=False)
        self.assertEqual(self.steps(standing=Standing.KNOWS), [
            "hocket: net: takes what is pushed while it trains and tries nothing, beginning with cap "
            "4 MiB"])

    def test_a_line_every_ten_minutes(self):
        self.steps(standing=Standing.KNOWS)
        self.assertEqual(self.steps(599), [])
        line = "hocket: net: step 3: iteration 182.1 ms; tried 3, kept 1"
        self.assertEqual(self.steps(1), [line])
        self.assertEqual(self.steps(599), [])
        self.client.known = {}
        self.assertEqual(self.steps(2), [])  # not known is not said

    def test_the_time_between_lines_is_the_users(self):
        for word, expected in (("5", 1), ("0", 0), ("often", 0), ("-3", 0)):
            with self.subTest(word), mock.patch.dict(os.environ, {"HOCKET_TORCH_PROGRESS_S": word}):
                self.news, self.client.standing = self.made(), Standing.ASKED
                self.assertEqual(len(self.steps(6)), expected)

    def test_what_a_line_says(self):
        self.assertEqual(progress_line(PROGRESS | {"exposed_share": 0.3149}),
                         "iteration 182.1 ms; communication-bound: 31 % exposed; tried 3, kept 1")
        self.assertEqual(progress_line(PROGRESS | {"exposed_share": 0.0, "late_rank": 3,
                                                   "late_ns": 12_340_000}),
                         "iteration 182.1 ms; communication: 0 % exposed; rank 3 is late: the others "
                         "wait 12.3 ms for it; tried 3, kept 1")

    def test_numbers_come_every_ten_seconds_and_a_call_that_fails_is_dropped(self):
        calls = []

        @hocket.torch.on_progress
        def fails(step, values):
            values.clear()  # of its own copy
            raise KeyError("wandb")
        hocket.torch.on_progress(lambda step, values: calls.append((step, values)))
        lines = self.steps(standing=Standing.KNOWS)
        self.assertEqual(len([line for line in lines if "on_progress() failed" in line]), 1)
        self.assertEqual(calls, [(1, {"hocket/iteration_ms": 182.06, "hocket/tried": 3,
                                      "hocket/kept": 1, "hocket/explored_percent": 2.0,
                                      "hocket/cap": 4 << 20})])
        self.assertEqual(self.steps(9), [])
        self.assertEqual(self.steps(1), [])
        self.assertEqual([step for step, _ in calls], [1, 3])

    def test_numbers_have_what_is_known(self):
        found = numbers(PROGRESS | {"exposed_share": 0.25, "late_rank": 0, "late_ns": 1.0}, {})
        self.assertEqual((found["hocket/exposed_percent"], found["hocket/late_rank"]), (25.0, 0))


if __name__ == "__main__":
    unittest.main()
