"""Each NCCL from 2.27 on that PyPI has, as far as it goes without a GPU: which interfaces of a
plugin it looks for, that hocket's plugin has one of each, and that the model of NCCL, which takes
these, is tuned by the plugin. 200 to 400 MB are fetched for each, one after the other.

    nccl_versions_test.py [VERSION …]      prints a row for each
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

VERSIONS = ("2.27.3 2.27.5 2.27.6 2.27.7 2.28.3 2.28.7 2.28.9 2.29.2 2.29.3 2.29.7 2.30.3 2.30.4 "
            "2.30.7 2.31.2 2.32.3").split()
MODEL, PLUGIN = os.environ["HOCKET_NCCL_MODEL"], os.environ["HOCKET_NCCL_PLUGIN"]
# Opened apart: it cannot be closed again, and starts threads.
PROBE = """
import json, sys
from hocket import nccl
library = nccl.ctypes.CDLL(sys.argv[1])
plugin = nccl.ctypes.CDLL(sys.argv[2])
print(json.dumps({
    "version": nccl.version_of(sys.argv[1]),
    "asked": {kind: nccl.asked_interfaces(sys.argv[1], kind) for kind in ("tuner", "profiler")},
    "offered": {kind: nccl.offered_interfaces(plugin, kind) for kind in ("tuner", "profiler")},
    # The plugin asks NCCL for its version, and nothing else.
    "has": [name for name in ("ncclGetVersion", "ncclCommInitRankConfig", "ncclAllReduce")
            if hasattr(library, name)]}))
"""


def fetch(version, folder):
    """Returns the library of a version, from PyPI's package. Skips where there is none."""
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--dest", folder, f"nvidia-nccl-cu12=={version}"], capture_output=True, text=True,
        check=False)
    if fetched.returncode:
        raise unittest.SkipTest(f"NCCL {version} cannot be fetched: {fetched.stderr.strip()[-300:]}")
    (wheel,) = pathlib.Path(folder).glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        file = packed.extract("nvidia/nccl/lib/libnccl.so.2", folder)
    wheel.unlink()
    return file


class NcclVersions(unittest.TestCase):
    def check(self, version):
        folder = tempfile.mkdtemp(prefix="hocket-nccl-")
        try:
            file = fetch(version, folder)
            said = json.loads(subprocess.run([sys.executable, "-c", PROBE, file, PLUGIN], check=True,
                                             capture_output=True, text=True).stdout)
        finally:
            shutil.rmtree(folder)
        self.assertEqual(said["version"], version)
        self.assertEqual(len(said["has"]), 3, said["has"])
        taken = {}
        for kind, asked in said["asked"].items():
            common = [number for number in asked if number in said["offered"][kind]]
            self.assertTrue(common, f"{kind}: asks for {asked}, the plugin has "
                                    f"{said['offered'][kind]}")
            taken[kind] = common[0]
        self.run_model(taken)
        print(f"| {version} | {ranges(said['asked']['tuner'])} | {taken['tuner']} | "
              f"{ranges(said['asked']['profiler'])} | {taken['profiler']} |", flush=True)

    def run_model(self, taken):
        """Runs the model of NCCL with these interfaces, and expects that it asks the plugin."""
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "result.json")
            subprocess.run(
                [MODEL, "--ranks", "2", "--tuner", PLUGIN, "--profiler", PLUGIN, "--iterations",
                 "20", "--scale", "0", "--tuner-version", str(taken["tuner"]),
                 "--profiler-version", str(taken["profiler"]), "--json", result],
                env=os.environ | {"HOCKET_DAEMON": ""}, check=True, capture_output=True)
            with open(result, encoding="utf-8") as document:
                run = json.load(document)
        self.assertEqual([run["tuner_version"], run["profiler_version"]],
                         [taken["tuner"], taken["profiler"]])
        self.assertGreater(run["decisions"], 0, "the model has not asked the plugin")
        self.assertEqual([run["mismatches"], run["violations"], run["dead"]], [0, 0, []])


def ranges(numbers):
    """Returns "7 to 1" for versions that are asked for from the newest to the oldest."""
    if numbers == list(range(numbers[0], numbers[-1] - 1, -1)) and len(numbers) > 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def test_of(version):
    return lambda self: self.check(version)


chosen = [word for word in sys.argv[1:] if word[0].isdigit()]
for one in chosen or VERSIONS:
    setattr(NcclVersions, "test_" + one.replace(".", "_"), test_of(one))

if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word not in chosen])
