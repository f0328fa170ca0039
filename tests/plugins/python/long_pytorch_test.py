"""PyTorch's own tests of distributed training under `hocket torch`: whatever passes without hocket
passes with it. `scripts/setup frameworks` fetches them; those that need GPUs skip.

    long_pytorch_test.py                      compares the tests of two runs of each file
    long_pytorch_test.py FILE RESULTS […]     runs a file's tests, or those named; writes which passed
"""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from torch_daemon import daemon

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
AUTORUN = os.path.join(ROOT, "plugins/python/hocket/torch/autorun")
TESTS = os.environ.get("HOCKET_PYTORCH_TESTS", os.path.join(sys.prefix, "pytorch_tests"))
LONGEST_S = 300
# Folders in which no process trains: remote calls, and starting and watching processes.
LEFT_OUT = ("rpc", "elastic", "launcher", "bin", "flight_recorder")


def run_file(path, results, names):
    """Runs tests by their names, or all of a file."""
    import torch
    from torch.testing._internal import common_distributed

    def fork(test):
        # Not spawned, which would import PyTorch once more for each rank of each test.
        test._start_processes(torch.multiprocessing.get_context("fork").Process)

    class Passed(unittest.TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            passed.append(test.id())

    common_distributed.MultiProcessTestCase._spawn_processes = fork
    if os.environ["HOCKET_TORCH"] == "1":
        # These models are too small for more than one bucket, and would be left alone.
        sys.path.append(os.path.join(ROOT, "plugins/python"))
        from hocket.torch import buckets
        buckets.LOW_BYTES = 64
    torch.set_num_threads(1)
    passed = []
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.argv = [path]
    spec.loader.exec_module(module)
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(names) if names else loader.loadTestsFromModule(module)
    unittest.TextTestRunner(verbosity=2, resultclass=Passed).run(tests)
    with open(results, "w", encoding="utf-8") as file:
        json.dump(passed, file)
    sys.stdout.flush()
    os._exit(0)  # a test may have left threads


def files():
    """Returns the files with tests, by their paths within TESTS."""
    found = []
    for folder, folders, names in os.walk(TESTS):
        folders[:] = [each for each in folders if each not in LEFT_OUT]
        found += [os.path.relpath(os.path.join(folder, name), TESTS)
                  for name in names if re.fullmatch(r"test_.*\.py", name)]
    return sorted(found)


class PytorchTest(unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(daemon())

    def passed(self, path, is_under_hocket, names=()):
        """Returns which tests of a file pass, and what they print; None where they do not end."""
        with tempfile.TemporaryDirectory() as folder:
            results = os.path.join(folder, "results")
            environment = os.environ | self.daemon.environment | {"HOCKET_TORCH": "0"}
            if is_under_hocket:
                environment.update(HOCKET_TORCH="1", HOCKET_TORCH_MEETING_S="1",
                                   PYTHONPATH=os.pathsep.join(
                                       [AUTORUN, environment.get("PYTHONPATH", "")]))
            with open(os.path.join(folder, "output"), "w+", errors="replace") as output:
                run = subprocess.Popen([sys.executable, __file__, os.path.join(TESTS, path), results,
                                        *names], cwd=TESTS, env=environment, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
                try:
                    run.wait(LONGEST_S)
                except subprocess.TimeoutExpired:
                    pass
                finally:
                    try:
                        os.killpg(run.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    run.wait()
                output.seek(0)
                text = output.read()
            try:
                with open(results, encoding="utf-8") as file:
                    return set(json.load(file)), text
            except FileNotFoundError:
                return None, text

    def test_what_passes_without_hocket_passes_with_it(self):
        said, compared = {}, 0
        for path in files():
            with self.subTest(path):
                plain, _ = self.passed(path, False)
                if not plain:
                    continue  # it needs GPUs, another version, or more than LONGEST_S
                under, output = self.passed(path, True)
                compared += len(plain)
                for line in re.findall(r"hocket: ([^\n]*)", output):
                    line = re.sub(r"\d+", "N", line)
                    said[line] = said.get(line, 0) + 1
                lost = plain - (under or set())
                if lost:  # some are flaky: they count if they fail again, and pass again without
                    again, output = self.passed(path, True, sorted(lost))
                    lost = (lost - (again or set())) & (self.passed(path, False, sorted(lost))[0]
                                                        or set())
                self.assertEqual(lost, set(), output[-20000:])
        print(compared, "tests; hocket said, with how often:", json.dumps(said, indent=1))
        self.assertGreater(compared, 300)
        # Most of these models train for so few steps that the daemon has no time to answer.
        self.assertTrue(any("tuned" in line for line in said), "nothing was tuned")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1].endswith(".py"):
        run_file(sys.argv[1], sys.argv[2], sys.argv[3:])
    elif os.path.isdir(TESTS):
        unittest.main()
    else:
        print("PyTorch's own tests are missing: scripts/setup frameworks")
        sys.exit(77)
