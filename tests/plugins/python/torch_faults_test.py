"""What fails around a job, or within hocket, leaves the training as it is, on all ranks."""

import contextlib
import os
import signal
import socketserver
import threading
import traceback
import unittest

from torch_daemon import daemon
from torch_net import STEPS, make, one_step, plain
from torch_ranks import log_lines, run_ranks

import hocket.torch as tuning

LONG_STEPS = 30
DEFAULT = {"bucket_cap_bytes": 1 << 20}  # as much as the model has
ON_DISK = {"HOCKET_STORE": "/nonexistent/store.db", "XDG_CACHE_HOME": "/nonexistent",
           "XDG_STATE_HOME": "/nonexistent", "HOME": "/nonexistent"}


def train(rank, before_step=None, steps=STEPS, environment=None):
    """Returns the losses, the job's status at last, the log, and the values at last."""
    os.environ.update((environment or {}).get(rank, {}))
    lines = log_lines()
    ddp, optimizer = make()
    job = tuning.tune(ddp, optimizer, explore=0.1, name="net")
    losses = []
    try:
        for step in range(steps):
            if before_step:
                before_step(rank, step, job)
            losses.append(one_step(ddp, optimizer, step))
        status = job.status()
    finally:
        job.close()
    return losses, status, lines, job.values


def with_killed_daemon(rank, pid):
    def kill(rank, step, _):
        if rank == 0 and step == 10:
            os.kill(pid, signal.SIGKILL)
    return train(rank, kill, LONG_STEPS)


def with_killed_rank(rank):
    """Rank 1 ends at once in step 6: the job's own collective says so on rank 0, and nothing of
    hocket's."""
    def kill(rank, step, _):
        if rank == 1 and step == 6:
            os._exit(9)
    try:
        train(rank, kill, LONG_STEPS)
    except RuntimeError as error:
        functions = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return "backward" if "backward" in functions else str(functions)
    return "nothing was reported"


def with_failing_rank(rank):
    """Rank 1's own tuning fails in step 6."""
    def fail(rank, step, job):
        if rank == 1 and step == 6:
            def raise_error():
                raise ValueError("a fault of hocket's")
            job._subject.ended = raise_error
    return train(rank, fail, LONG_STEPS)


def with_failing_client(rank):
    def fail(rank, step, job):
        if rank == 0 and step == 6:
            job._client.close()
    return train(rank, fail, LONG_STEPS)


class _Nonsense(socketserver.BaseRequestHandler):
    """Answers each request with the server's bytes, or with nothing for long."""

    def handle(self):
        with contextlib.suppress(OSError):
            self.request.recv(65536)
            if self.server.answer is None:
                self.server.ended.wait()
            else:
                self.request.sendall(self.server.answer)


@contextlib.contextmanager
def lying_daemon(answer):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Nonsense) as server:
        server.daemon_threads, server.block_on_close = True, False
        server.answer, server.ended = answer, threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield {"HOCKET_DAEMON": f"http://127.0.0.1:{server.server_address[1]}"} | ON_DISK
        finally:
            server.ended.set()
            server.shutdown()


def answer(body, status="200 OK"):
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            f"\r\n\r\n{body}").encode()


LIES = {
    "garbage": os.urandom(4096), "silence": None, "nothing": b"", "no JSON": answer("{{{"),
    "another cap": answer('{"format":"hocket-schedule","version":1,'
                          '"job":{"bucket_cap_bytes":-5}}'),
    "an error": answer('{"error":"lie"}', "500 Internal Server Error"),
    "a wrong configuration": answer(
        '{"version":7,"config":{"format":"hocket-schedule","version":1,'
        '"job":{"bucket_cap_bytes":"all","another":3}}}'),
}


class FaultsTest(unittest.TestCase):
    def compare(self, results):
        for result, losses in zip(results, run_ranks(plain, len(results[0][0]))):
            self.assertEqual(result[0], losses)

    def test_a_daemon_that_is_dead(self):
        environment = {"HOCKET_DAEMON": "http://127.0.0.1:1"} | ON_DISK
        results = run_ranks(train, environment=environment)
        self.compare(results)
        for rank, (_, status, _, values) in enumerate(results):
            self.assertRegex(status, "(?m)tuned while it trains$" if rank > 0 else "not tuned until the "
                             "daemon takes the job: .*Connection refused")
            self.assertEqual(values, DEFAULT)
        self.assertTrue(any("127.0.0.1:1" in line for line in results[0][2]), results[0][2])
        said = [line for line in results[0][2] if "not tuned until" in line]
        self.assertEqual(len(said), 1, results[0][2])
        self.assertTrue(said[0].endswith("; it trains with bucket_cap_bytes 1 MiB (the model fits; "
                                         "DDP's own cap is 25 MiB)"), said)

    def test_an_address_that_is_none(self):
        results = run_ranks(train, environment={"HOCKET_DAEMON": "127.0.0.1:7077"} | ON_DISK)
        self.compare(results)
        for _, status, *_ in results:
            self.assertIn("not tuned: HOCKET_DAEMON: the daemon's address must be http", status)
        self.assertFalse(any("tuned while" in line for line in results[0][2]), results[0][2])

    def test_a_daemon_that_lies(self):
        for name, lie in LIES.items():
            with self.subTest(name), lying_daemon(lie) as environment:
                results = run_ranks(train, environment=environment)
                self.compare(results)
                for _, status, _, values in results:
                    self.assertIn("at first from: default", status)
                    self.assertEqual(values, DEFAULT)
                self.assertTrue(any("daemon" in line for line in results[0][2]), results[0][2])

    def test_a_daemon_that_is_killed(self):
        with daemon() as served:
            results = run_ranks(with_killed_daemon, served.pid, environment=served.environment)
        self.compare(results)
        for _, status, *_ in results:
            self.assertRegex(status, "(?<!not )tuned while it trains|not tuned until the daemon")

    def test_a_rank_that_is_killed_is_reported_by_the_jobs_own_collective(self):
        with daemon() as served:
            results = run_ranks(with_killed_rank, environment=served.environment,
                                expect_exits={1: 9})
        self.assertEqual(results[0], "backward")

    def test_a_rank_on_which_hocket_fails_takes_the_others_with_it(self):
        for function, reason in ((with_failing_rank, "a fault of hocket's"),
                                 (with_failing_client, "closed")):
            with self.subTest(function.__name__), daemon() as served:
                results = run_ranks(function, environment=served.environment)
                self.compare(results)
                for _, status, *_ in results:
                    self.assertIn("not tuned", status)
                log = [line for _, _, lines, _ in results for line in lines]
                self.assertTrue(any(reason in line for line in log), log)

    def test_a_rank_without_the_library(self):
        for rank in range(2):
            with self.subTest(rank=rank), daemon() as served:
                results = run_ranks(train, None, STEPS,
                                    {rank: {"HOCKET_CLIENT_LIBRARY": "/nonexistent/library"}},
                                    environment=served.environment)
                self.compare(results)
                for _, status, *_ in results:
                    self.assertIn("cannot be opened", status)
                self.assertEqual(sum("left alone" in line for line in results[0][2]), 1)
                self.assertEqual(results[1][2], [])

    def test_a_setting_of_hockets_that_is_wrong(self):
        results = run_ranks(train, environment={"HOCKET_TORCH_EXPLORE": "much"})
        self.compare(results)
        for _, status, *_ in results:
            self.assertIn("not tuned", status)


if __name__ == "__main__":
    unittest.main()
