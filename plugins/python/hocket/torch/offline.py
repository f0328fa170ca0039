"""The command that searches, run by run, what cannot change while a job trains."""

import os
import shlex
import sys

_LONGEST = 300
_ANY = "COMMAND…"


def _program():
    """Returns how this rank's program is started on one host; a word for it where that is not known
    or is too long for a line. `accelerate launch` starts ranks as torchrun does."""
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    is_script = bool(sys.argv and sys.argv[0].endswith(".py"))
    is_by_torchrun = ("TORCHELASTIC_RUN_ID" in os.environ
                      and "ACCELERATE_MIXED_PRECISION" not in os.environ)
    is_one_host = ranks.isdigit() and os.environ.get("WORLD_SIZE") == ranks
    if not (is_script and is_by_torchrun and is_one_host):
        return _ANY
    text = f"torchrun --nproc-per-node {ranks} {shlex.join(sys.argv)}"
    return text if len(text) <= _LONGEST and text.isprintable() else _ANY


def sweep(*sets):
    """Returns the command for these sets of knobs, as "torch:ddp"."""
    return " ".join(["hocket tune", *(f"--knobs {each}" for each in sets),
                     "-- hocket torch --", _program()])
