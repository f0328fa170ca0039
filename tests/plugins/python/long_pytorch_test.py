"""PyTorch's own tests of distributed training under `hocket torch`: whatever passes without hocket
passes with it. They are in PyTorch's wheel, as `torch.testing._internal.distributed`.

    long_pytorch_test.py            compares the tests of two runs of the following
    long_pytorch_test.py RESULTS […]    runs them, or those named, and writes what passed
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
AUTORUN = os.path.join(ROOT, "plugins/python/hocket/torch/autorun")
LONGEST_S = 1200
# Parts of the names of tests that train. Without a model hocket does nothing.
TRAINING = ("ddp", "DistributedDataParallel", "SGD", "optimizer", "static_graph")


def run_suite(results, names):
    """Runs tests by their names, or all, each on two ranks that are forked for it."""
    import torch
    from torch.testing._internal.distributed import distributed_test as suite

    class Suite(suite.TestDistBackend, suite.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            # Forked rather than spawned, which would import PyTorch once more for each rank.
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    class Passed(unittest.TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            passed.append(test._testMethodName)

    passed = []
    torch.set_num_threads(1)
    names = names or [name for name in unittest.defaultTestLoader.getTestCaseNames(Suite)
                      if any(part in name for part in TRAINING)]
    tests = unittest.TestSuite(Suite(name) for name in names)
    unittest.TextTestRunner(verbosity=2, resultclass=Passed).run(tests)
    with open(results, "w", encoding="utf-8") as file:
        json.dump(passed, file)


class PytorchTest(unittest.TestCase):
    def passed(self, is_under_hocket, names=()):
        """Returns which tests pass, and what they printed."""
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, BACKEND="gloo", WORLD_SIZE="2", TEMP_DIR=folder,
                               HOCKET_TORCH="0")
            if is_under_hocket:
                environment.update(HOCKET_TORCH="1", PYTHONPATH=os.pathsep.join(
                    [AUTORUN, environment.get("PYTHONPATH", "")]))
            run = subprocess.run([sys.executable, __file__, folder + "/results", *names],
                                 env=environment, timeout=LONGEST_S, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout[-5000:])
            with open(folder + "/results", encoding="utf-8") as file:
                return set(json.load(file)), run.stdout

    def test_what_passes_without_hocket_passes_with_it(self):
        plain, _ = self.passed(False)
        self.assertTrue(plain)
        lost = plain - self.passed(True)[0]
        if lost:  # some are flaky: they count if they fail again, and pass again without hocket
            again, output = self.passed(True, sorted(lost))
            lost = (lost - again) & self.passed(False, sorted(lost))[0]
            self.assertEqual(lost, set(), output[-20000:])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_suite(sys.argv[1], sys.argv[2:])
    else:
        unittest.main()
