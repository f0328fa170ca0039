"""hocket.Client without a daemon, with knobs of the program's own."""

import json
import os
import subprocess
import sys
import unittest

import hocket

CAP = hocket.Knob("cap_bytes", low=1024, high=8192, usual=4096, log=True, unit="B", running=True)
MODE = hocket.Knob("mode", choices=("slow", "fast"), usual="fast", running=True)
TENSORS = [("weights", 4096), ("bias", 64)]
NO_OTHERS = {"start": {}, "running": {}}


def make(**options):
    return hocket.Client("a-model", TENSORS, **{"world_size": 2, "link": "tcp", "own_knobs": (
        CAP, MODE), "can_run": NO_OTHERS} | options)


def setting(**values):
    return {"format": "hocket-schedule", "version": 1, "job": values}


class ClientTest(unittest.TestCase):
    def setUp(self):
        for name in ("HOCKET_DAEMON", "HOCKET_CONFIG"):
            os.environ.pop(name, None)
        os.environ["HOCKET_STORE"] = "/nonexistent/store.db"

    def tearDown(self):
        os.environ.pop("HOCKET_CONFIG", None)

    def test_the_default(self):
        with make() as client:
            self.assertEqual((client.get("job.cap_bytes"), client.get("job.mode")), (4096, "fast"))
            self.assertEqual((client.source, client.version), ("default", 0))
            self.assertEqual(json.loads(client.config)["format"], "hocket-schedule")
            self.assertTrue(client.key)
            with self.assertRaisesRegex(hocket.Error, "job.other"):
                client.get("job.other")

    def test_other_knobs_are_another_job(self):
        keys = set()
        for knobs in ((CAP,), (MODE,), (CAP, MODE)):
            with make(own_knobs=knobs) as client:
                keys.add(client.key)
        self.assertEqual(len(keys), 3)

    def test_other_traits_are_another_job(self):
        keys = []
        for traits in (None, {}, {"optimizer": "AdamW"}, {"optimizer": "SGD"}):
            with make(traits=traits) as client:
                keys.append(client.key)
                self.assertEqual(client.search, "")
        self.assertEqual(keys[0], keys[1])
        self.assertEqual(len(set(keys)), 3)

    def test_a_trial_and_a_refused_one(self):
        os.environ["HOCKET_CONFIG"] = json.dumps(setting(cap_bytes=2048, mode="slow"))
        with make() as client:
            self.assertEqual((client.get("job.cap_bytes"), client.get("job.mode")), (2048, "slow"))
            self.assertEqual(client.source, "trial")
        seen = []

        def accept(config):
            seen.append(config["job"])
            return "no memory for it"
        with self.assertRaisesRegex(hocket.Error, "no memory for it"):
            make(accept=accept)
        self.assertEqual(seen[0], {"cap_bytes": 2048, "mode": "slow"})

    def test_an_accept_that_raises_refuses(self):
        os.environ["HOCKET_CONFIG"] = json.dumps(setting(cap_bytes=2048))

        def accept(_):
            raise ValueError("a fault" + 1000 * "!")
        with self.assertRaisesRegex(hocket.Error, "ValueError: a fault!"):
            make(accept=accept)

    def test_the_steps_of_two_ranks(self):
        first = make()
        ranks = [first, make(rank=1, config=first.config)]
        for step in range(3):
            ballots = [client.ballot() for client in ranks]
            for client, ballot in zip(ranks, ballots):
                client.fill(ballot)
            for client, ballot in zip(ranks, ballots):
                for i, values in enumerate(zip(*ballots)):
                    ballot[i] = sum(values) if client is ranks[0] else ballots[0][i]
                client.read(ballot)
            ranks[0].iteration(step, 0.01)
            self.assertEqual([client.step_ended() for client in ranks], [False, False])
        for client in reversed(ranks):
            client.close()

    def test_calls_out_of_order_are_errors(self):
        client = make()
        with self.assertRaises(hocket.Error):
            client.step_ended()
        with self.assertRaises(hocket.Error):
            client.iteration(0, -1)
        with self.assertRaisesRegex(hocket.Error, "hocket_iteration"):
            client.report([0.1])
        client.close()
        client.close()
        with self.assertRaises(ValueError):
            client.config

    def test_reports_without_knobs_that_change(self):
        with hocket.Client("a-model", TENSORS, world_size=2) as client:
            self.assertEqual(client.ballot_size, 0)
            client.report([0.1, 0.2])
            with self.assertRaises(hocket.Error):
                client.report([0.0])

    def test_a_client_that_is_not_closed_ends_with_the_program(self):
        program = ("import hocket; client = hocket.Client('m', own_knobs=["
                   "hocket.Knob('k', 0, 9, 3, running=True)], warn=print, say=print)")
        done = subprocess.run([sys.executable, "-c", program], timeout=60,
                              env=os.environ | {"HOCKET_DAEMON": "http://127.0.0.1:1"})
        self.assertEqual(done.returncode, 0)

    def test_warnings_are_passed_on(self):
        warnings = []
        os.environ["HOCKET_DAEMON"] = "http://127.0.0.1:1"

        def warn(text):
            warnings.append(text)
            raise ValueError("which stays here")
        with self.assertLogs("hocket", "ERROR"), make(warn=warn):
            pass
        self.assertIn("127.0.0.1", warnings[0])


if __name__ == "__main__":
    unittest.main()
