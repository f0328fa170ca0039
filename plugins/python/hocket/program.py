"""The command `hocket` where it was installed with pip: becomes the program of the wheel."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hocket")


def main():
    try:
        os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"hocket: {PROGRAM} cannot be started ({error.strerror}); install the wheel "
                 "again: pip install --force-reinstall")
