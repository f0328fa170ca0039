"""The line of a program that a message names."""

import copy
import inspect
import os
import unittest

import torch

from hocket.torch.program_line import program_line


def named(path, source):
    """Runs a program that asks for its line."""
    found = {}
    exec(compile(source, path, "exec"), {"ask": program_line, "found": found, "copy": copy})
    return found["line"]


class ProgramLineTest(unittest.TestCase):
    def test_of_a_file_below_the_working_folder_the_rest(self):
        path = os.path.join(os.getcwd(), "folder", "train.py")
        self.assertEqual(named(path, "\n\nfound['line'] = ask()"), "folder/train.py:3")

    def test_of_another_file_the_whole_path(self):
        self.assertEqual(named("/elsewhere/train.py", "found['line'] = ask()"),
                         "/elsewhere/train.py:1")

    def test_what_pytorch_and_python_do_for_the_program_is_left_out(self):
        torch_file = os.path.join(os.path.dirname(torch.__file__), "nn", "some.py")
        packages = os.path.join(os.path.dirname(os.__file__), "site-packages", "trainer.py")
        for path, is_named in ((torch_file, False), (copy.__file__, False), ("<string>", False),
                               (inspect.getfile(program_line), False), (packages, True)):
            with self.subTest(path):
                self.assertEqual(path in named(path, "found['line'] = ask()"), is_named)

    def test_the_innermost_line_of_the_program(self):
        source = ("class Asks:\n"
                  "    def __deepcopy__(self, _):\n"
                  "        found['line'] = ask()\n"
                  "copy.deepcopy(Asks())\n")
        self.assertEqual(named("/elsewhere/train.py", source), "/elsewhere/train.py:3")


if __name__ == "__main__":
    unittest.main()
