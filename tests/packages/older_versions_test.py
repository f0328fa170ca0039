"""Tests packaging/wheel/older_versions.py on programs that ask this machine's glibc for newer
functions."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# pyelftools is among the wheel's tools.
sys.path += [str(path) for path in ROOT.glob("build/wheel/tools/lib/python3*/site-packages")]
sys.path.insert(0, str(ROOT / "packaging/wheel"))

try:
    import older_versions
except ImportError:
    older_versions = None

HYPOT = """#include <math.h>
#include <stdio.h>
int main(int count, char** words) { printf("%g\\n", hypot(3 * count, 4)); }
"""
FIND = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
int main(int count, char** words) {
  struct dl_find_object found;
  return _dl_find_object(words, &found) + (int)hypot(count, 4);
}
"""


@unittest.skipUnless(older_versions, "scripts/wheel --tools has not run")
class OlderVersions(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def program_of(self, source):
        program = self.folder / "program"
        subprocess.run(["gcc", "-fno-builtin", "-x", "c", "-", "-o", program, "-lm"], text=True,
                       input=source, check=True)
        if "GLIBC_2.35" not in self.versions_of(program):
            self.skipTest("this glibc has no function of version 2.35")
        return program

    def versions_of(self, program):
        said = subprocess.run(["readelf", "--version-info", "--wide", program], text=True,
                              capture_output=True, check=True).stdout
        return set(re.findall(r"Name: (\S+)", said))

    def test_the_older_function_is_asked_for_and_does_the_same(self):
        program = self.program_of(HYPOT)
        older_versions.lower(program)
        self.assertNotIn("GLIBC_2.35", self.versions_of(program))
        self.assertEqual(subprocess.run([program], capture_output=True, check=True).stdout, b"5\n")
        # By then there is nothing to do.
        before = program.read_bytes()
        older_versions.lower(program)
        self.assertEqual(program.read_bytes(), before)

    def test_a_function_that_older_systems_lack_is_named_and_nothing_changes(self):
        program = self.program_of(FIND)
        before = program.read_bytes()
        with self.assertRaises(older_versions.CannotLower) as problem:
            older_versions.lower(program)
        self.assertIn("_dl_find_object", str(problem.exception))
        self.assertNotIn("hypot", str(problem.exception))
        self.assertEqual(program.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
