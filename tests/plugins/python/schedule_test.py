"""hocket.Schedule with ranks that are threads, which sum real values."""

import array
import os
import queue
import sys
import threading
import unittest

import hocket

LONG_S = 60


def config(order, partition_bytes=4096):
    return {"format": "hocket-schedule", "version": 1, "order": order,
            "partition_bytes": partition_bytes, "credit_bytes": 4 * partition_bytes}


class Sums:
    """Sums values over the ranks, part by part."""

    def __init__(self, ranks):
        self.ranks, self.changed, self.meetings = ranks, threading.Condition(), {}

    def all_reduce(self, index, values):
        with self.changed:
            meeting = self.meetings.setdefault(index, [0, array.array("f", bytes(4 * len(values)))])
            for i, value in enumerate(values):
                meeting[1][i] += value
            meeting[0] += 1
            self.changed.notify_all()
            if not self.changed.wait_for(lambda: meeting[0] == self.ranks, LONG_S):
                raise TimeoutError
            values[:] = meeting[1]


class Rank:
    def __init__(self, rank, world_size, sums, messages, settings):
        self.rank, self.sums, self.messages = rank, sums, messages
        self.schedule = hocket.Schedule(rank, world_size, config=settings,
                                        broadcast=self.broadcast)
        self.values = [memoryview(array.array("f", bytes(4 * size))) for size in (3000, 10, 5000)]
        for i, values in enumerate(self.values):
            assert self.schedule.add(f"t{i}", values.nbytes, priority=i) == i
        self.communicator = threading.Thread(target=self.communicate)
        self.communicator.start()

    def broadcast(self, buffer):
        if self.rank == 0:
            for messages in self.messages[1:]:
                messages.put(bytes(buffer))
        else:
            buffer[:] = self.messages[self.rank].get(timeout=LONG_S)

    def communicate(self):
        while part := self.schedule.next():
            first = part.offset_bytes // 4
            end = first + part.bytes // 4
            self.sums.all_reduce(part.index, self.values[part.tensor][first:end])
            self.schedule.notify_finish(part)

    def step(self, value):
        for tensor in range(3):
            self.schedule.enqueue(tensor)
        for tensor in reversed(range(3)):
            self.values[tensor][:] = array.array("f", [value] * len(self.values[tensor]))
            self.schedule.notify_ready(tensor)
        self.schedule.end_step()
        for tensor in range(3):
            self.schedule.wait(tensor, LONG_S)

    def stop(self):
        self.schedule.stop()
        self.communicator.join()


class ScheduleTest(unittest.TestCase):
    def on_ranks(self, count, settings, train):
        sums, messages = Sums(count), [queue.Queue() for _ in range(count)]
        ranks = [Rank(rank, count, sums, messages, settings) for rank in range(count)]
        errors = []

        def run(rank):
            try:
                train(rank)
            except BaseException as error:  # shown by the test's thread
                errors.append(error)
        threads = [threading.Thread(target=run, args=[rank]) for rank in ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for rank in ranks:
            rank.stop()
        for rank in reversed(ranks):
            rank.schedule.close()
        self.assertEqual(errors, [])

    def test_sums_in_every_order(self):
        def train(rank):
            for step in range(1, 4):
                rank.step(step * (rank.rank + 1))
                for values in rank.values:
                    self.assertEqual(set(values), {3.0 * step})
        for order in ("fifo", "negotiated"):
            with self.subTest(order=order):
                self.on_ranks(2, config(order), train)

    def test_a_recorded_step_is_one_to_follow(self):
        def train(rank):
            rank.schedule.record(4)
            for _ in range(7):
                rank.step(1)
            step = rank.schedule.recorded_step()
            self.assertEqual(step["format"], "hocket-step")
            rank.schedule.reconfigure(config("static"), step)
            rank.step(2)
            self.assertEqual(set(rank.values[0]), {2.0})
        self.on_ranks(1, config("fifo"), train)

    def test_errors_are_exceptions_with_the_librarys_words(self):
        with self.assertRaisesRegex(hocket.Error, "rank 3 of 2"):
            hocket.Schedule(3, 2)
        with hocket.Schedule(0, 1) as schedule:
            with self.assertRaisesRegex(hocket.Error, "there are 0"):
                schedule.enqueue(0)
            self.assertIsNone(schedule.next(timeout_s=0))
            schedule.close()

    def test_a_broadcast_that_raises_fails_the_schedule(self):
        def broadcast(_):
            raise ConnectionError("rank 0 is gone")
        sys.stderr.flush()
        saved = os.dup(2)
        with open(os.devnull, "w", encoding="utf-8") as nothing:
            os.dup2(nothing.fileno(), 2)  # the traceback is expected
            try:
                with hocket.Schedule(1, 2, config=config("negotiated"),
                                     broadcast=broadcast) as schedule:
                    with self.assertRaisesRegex(hocket.Error, "another rank may be gone"):
                        schedule.next(LONG_S)
            finally:
                sys.stderr.flush()
                os.dup2(saved, 2)
                os.close(saved)


if __name__ == "__main__":
    unittest.main()
