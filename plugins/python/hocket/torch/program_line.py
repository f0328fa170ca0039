"""Names the line of the program that is running, for messages to its author."""

import os
import sys
import sysconfig

import torch

# A line in one of these is called by the program: what PyTorch, hocket and Python do for it.
_FOLDERS = tuple(os.path.join(os.path.dirname(os.path.abspath(path)), "") for path in (
    torch.__file__, os.path.dirname(os.path.dirname(__file__))))
_STANDARD = os.path.join(sysconfig.get_path("stdlib"), "")
_PACKAGES = tuple(os.path.join(_STANDARD, name, "") for name in (
    "site-packages", "dist-packages"))


def _is_programs(file):
    if file.startswith("<"):  # no file: made by exec()
        return False
    file = os.path.abspath(file)
    return not file.startswith(_FOLDERS) and (
        not file.startswith(_STANDARD) or file.startswith(_PACKAGES))


def program_line():
    """Returns "train.py:42", the innermost line of this thread that is neither PyTorch's nor
    hocket's nor Python's own; None where there is none. Takes microseconds."""
    frame = sys._getframe(1)
    while frame is not None:
        if _is_programs(frame.f_code.co_filename):
            return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _short(file):
    """Returns a path below the working folder without that folder."""
    here = os.path.join(os.getcwd(), "")
    return file[len(here):] if file.startswith(here) else file
