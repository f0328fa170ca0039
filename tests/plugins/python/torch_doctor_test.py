"""What processes of a job tell `hocket doctor`, and the line about NCCL in the job's log."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch
from hocket import load_report, nccl
from hocket.torch import nccl_plugin

PACKAGES = next(path for path in sys.path
                if os.path.exists(os.path.join(path, "hocket", "torch", "__init__.py")))
AUTORUN = os.path.join(PACKAGES, "hocket", "torch", "autorun")

TRAIN = """
import sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(3):
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
print("trained")
"""


def python(arguments, file):
    """Returns what a process prints that is started as `hocket torch` does."""
    variables = os.environ | {"PYTHONPATH": AUTORUN, "HOCKET_TORCH": "1", "HOCKET_DOCTOR_FILE": file}
    return subprocess.run([sys.executable, *arguments], env=variables, check=True, text=True,
                          stdout=subprocess.PIPE, timeout=100).stdout


def reports(file):
    with open(file, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class ReportsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "reports")
        with open(self.file, "w", encoding="utf-8"):
            pass

    def test_a_process_loads_what_a_job_would_load_and_says_so(self):
        python(["-m", "hocket.doctor"], self.file)
        start, probe = reports(self.file)
        self.assertEqual((start["event"], probe["event"]), ("start", "probe"))
        self.assertTrue(start["hooked"])
        self.assertEqual(probe["torch"], torch.__version__)
        self.assertNotIn("reducer_problem", probe)
        self.assertEqual(os.path.realpath(probe["client_library"]),
                         os.path.realpath(os.environ["HOCKET_CLIENT_LIBRARY"]))
        self.assertRegex(probe["client_version"], r"^\d+\.\d+\.\d+$")

    def test_a_rank_says_when_it_joins_and_when_it_has_made_a_step(self):
        printed = python(["-c", TRAIN, os.path.join(self.folder, "meeting")], self.file)
        self.assertIn("trained", printed)
        start, group, step = reports(self.file)
        self.assertEqual([start["event"], group["event"], step["event"]], ["start", "group", "step"])
        for each in group, step:
            self.assertEqual((each["rank"], each["ranks"], each["backend"]), (0, 1, "gloo"))
            self.assertFalse(each["uses_nccl"])
        self.assertNotIn("reducer_problem", step)

    def test_nothing_is_written_but_into_a_file_of_the_doctors(self):
        link, pipe = os.path.join(self.folder, "link"), os.path.join(self.folder, "pipe")
        nowhere, full = os.path.join(self.folder, "nowhere"), os.path.join(self.folder, "full")
        os.symlink(self.file, link)
        os.mkfifo(pipe)
        with open(full, "wb") as file:
            file.truncate(1 << 20)
        for name in "", link, pipe, nowhere, self.folder, full:
            with mock.patch.dict(os.environ, {"HOCKET_DOCTOR_FILE": name}):
                load_report.report("start")
        self.assertEqual(os.path.getsize(self.file), 0)
        self.assertEqual(os.path.getsize(full), 1 << 20)
        self.assertFalse(os.path.exists(nowhere))
        with mock.patch.dict(os.environ, {"HOCKET_DOCTOR_FILE": self.file}), \
                mock.patch.object(load_report, "_is_hooked", side_effect=OSError("x" * 9999)):
            load_report.report("start")
        self.assertLess(len(reports(self.file)[0]["problem"]), 500)

    def test_a_file_that_another_process_holds_is_written_in_the_end(self):
        holder = subprocess.Popen(
            [sys.executable, "-c", "import fcntl, sys\nfile = open(sys.argv[1], 'r+')\n"
             "fcntl.lockf(file, fcntl.LOCK_EX)\nprint(flush=True)\nsys.stdin.read()", self.file],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate)
        holder.stdout.readline()
        with mock.patch.dict(os.environ, {"HOCKET_DOCTOR_FILE": self.file}):
            load_report.report("start")
        self.assertEqual([line["event"] for line in reports(self.file)], ["start"])

    def test_the_doctor_asks_a_job(self):
        done = subprocess.run(
            [os.environ["HOCKET_PROGRAM"], "doctor", "--json", "--job", "--timeout", "100s", "--",
             sys.executable, "-c", TRAIN, os.path.join(self.folder, "meeting")],
            stdout=subprocess.PIPE, text=True, timeout=200)
        checks = {check["what"].split(",")[0]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual(done.returncode, 0, checks)
        self.assertEqual(checks["rank 0"]["state"], "ok", checks)
        self.assertIn(f"knows the Reducer of PyTorch {torch.__version__}", checks["rank 0"]["found"])


class NcclLineTest(unittest.TestCase):
    """The line is tested without a GPU, on an optimizer of parameters that claim to be on one."""

    def line(self, taken, mapped="", tuner="hocket", rank=0, more=None):
        variables = {"NCCL_TUNER_PLUGIN": tuner} | (more or {})
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        with mock.patch.multiple(nccl_plugin, uses_nccl=lambda _: True, _watched=[],
                                 dist=mock.Mock(get_rank=lambda: rank)), \
                mock.patch.multiple(nccl, environment=variables.get, taken_times=lambda: taken,
                                    version_of=lambda _: "2.28.9",
                                    mapped=lambda name: mapped if name == nccl.PLUGIN else ""), \
                mock.patch.object(nccl_plugin.log, "warning") as warning:
            nccl_plugin.watch(optimizer)
            warning.assert_not_called()
            optimizer.step()
            optimizer.step()
            self.assertLessEqual(warning.call_count, 1)
            return warning.call_args[0][1] if warning.called else None

    def test_nccl_that_has_not_opened_the_plugin_is_one_line(self):
        self.assertIn("NCCL 2.28.9 runs without hocket's plugin", self.line(None))
        self.assertIn("it has not opened it", self.line(None))
        self.assertIn("none of its interfaces", self.line(0, "/l.so"))
        self.assertIn("hocket doctor --job", self.line(None, tuner="/x/libnccl-tuner-hocket.so"))

    def test_where_all_is_as_it_should_be_there_is_none(self):
        self.assertIsNone(self.line(1, "/l.so"))
        self.assertIsNone(self.line(None, "/older.so"))  # which does not count
        self.assertIsNone(self.line(None, tuner="another"))
        self.assertIsNone(self.line(None, tuner=None))
        self.assertIsNone(self.line(None, rank=1))
        self.assertIsNone(self.line(None, more={"HOCKET_NCCL": "off"}))

    def test_a_model_on_processors_is_not_watched(self):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        step = optimizer.step
        nccl_plugin.watch(optimizer)
        self.assertEqual(optimizer.step, step)


class NcclFilesTest(unittest.TestCase):
    def test_the_names_in_a_file_are_what_nccl_asks_for(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x\0ncclTunerPlugin_v4\0ncclTunerPlugin_v12\0ncclTunerPlugin_v2_t\0"
                       b"\0ncclProfiler_v5\0y")
            file.flush()
            self.assertEqual(nccl.asked_interfaces(file.name, "tuner"), [12, 4])
            self.assertEqual(nccl.asked_interfaces(file.name, "profiler"), [5])
        self.assertEqual(nccl.asked_interfaces("/nowhere", "tuner"), [])

    def test_a_mapped_file_is_found_by_its_name(self):
        self.assertTrue(os.path.basename(nccl.mapped("libc.so")).startswith("libc.so"))
        self.assertEqual(nccl.mapped("libnowhere.so"), "")
        self.assertIsNone(nccl.taken_times())


if __name__ == "__main__":
    unittest.main()
