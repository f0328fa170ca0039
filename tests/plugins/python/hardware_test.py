"""The hardware of a host, as a job's key has it."""

import json
import os
import subprocess
import unittest
from unittest import mock

from hocket import hardware, library

HOST = ("cpu_model", "sockets", "numa_nodes", "cores", "hardware_threads", "memory_gib")


class HardwareTest(unittest.TestCase):
    def test_it_is_what_the_program_says_of_this_host(self):
        program = os.environ.get("HOCKET_PROGRAM")
        if not program:
            self.skipTest("HOCKET_PROGRAM is not set")
        said = json.loads(subprocess.check_output([program, "topology", "--json"]))["topology"]
        found = hardware.topology(2, "tcp", "2 x GPU", 1)
        self.assertEqual(found, {name: said[name] for name in HOST} | {
            "link": "tcp", "world_size": 2, "accelerator": "2 x GPU", "ranks_per_host": 1,
            "library_versions": {}})

    def test_an_older_library_or_one_without_memory_leaves_it_unknown(self):
        unknown = dict.fromkeys(HOST, 0) | {"cpu_model": ""}
        for function in (mock.Mock(side_effect=AttributeError), mock.Mock(return_value=lambda: None)):
            with mock.patch.object(library, "function", function):
                found = hardware.topology(2, "tcp")
            self.assertEqual({name: found[name] for name in HOST}, unknown)
            self.assertEqual(found["world_size"], 2)


if __name__ == "__main__":
    unittest.main()
