"""The hardware of a host, as it would be on others."""

import json
import os
import subprocess
import unittest

from hocket import hardware

TWO_SOCKETS = "\n\n".join(
    f"processor\t: {number}\nmodel name\t: A CPU: of 2 words\nphysical id\t: {number // 4}\n"
    f"core id\t\t: {number % 4 // 2}\nflags\t\t: a b" for number in range(8)) + "\n\n"
NODES = {f"node{number}": f"{4 * number}-{4 * number + 3}\n" for number in range(2)}


def topology(cpuinfo, cpuset=""):
    files = {"/proc/cpuinfo": cpuinfo, hardware._CPUSET: cpuset}
    files |= {f"{hardware._NODES}/{name}/cpulist": text for name, text in NODES.items()}
    return hardware.topology(2, "tcp", "2 x GPU", read=lambda path: files.get(path, ""),
                             nodes=["node0", "node1", "online"])


class HardwareTest(unittest.TestCase):
    def expect(self, found, **fields):
        self.assertEqual({name: found[name] for name in fields}, fields)

    def test_a_whole_host(self):
        self.expect(topology(TWO_SOCKETS), cpu_model="A CPU: of 2 words", sockets=2, numa_nodes=2,
                    cores=4, hardware_threads=8, world_size=2, link="tcp", accelerator="2 x GPU")

    def test_what_its_control_group_may_use(self):
        self.expect(topology(TWO_SOCKETS, "0-1,3\n"), sockets=1, numa_nodes=1, cores=2,
                    hardware_threads=3)
        self.expect(topology(TWO_SOCKETS, "100-101\n"), hardware_threads=8)

    def test_a_processor_that_says_little(self):
        self.expect(topology("processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n"),
                    cpu_model="unknown CPU", sockets=1, cores=2, hardware_threads=2)
        self.expect(topology(""), cpu_model="unknown CPU", sockets=1, cores=os.cpu_count())

    def test_it_is_what_the_program_says_of_this_host(self):
        program = os.environ.get("HOCKET_PROGRAM")
        if not program:
            self.skipTest("HOCKET_PROGRAM is not set")
        said = json.loads(subprocess.check_output([program, "topology", "--json"]))["topology"]
        found = hardware.topology(2, "tcp")
        for name in ("cpu_model", "sockets", "numa_nodes", "cores", "hardware_threads",
                     "memory_gib"):
            self.assertEqual(found[name], said[name], name)


if __name__ == "__main__":
    unittest.main()
