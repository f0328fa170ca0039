"""Lines for users who have not configured logging: that a model is tuned, or why not, each setting
that is kept, and a summary at the end."""

import logging
import os
import re
import sys

log = logging.getLogger("hocket")
_NEWS = re.compile(r"(step \d+: kept |settled on |nothing was tried)")


def is_news(line):
    """Returns whether a line of the client says that a setting is kept, or sums up at the end."""
    return _NEWS.match(line) is not None


def shown(knob, value):
    """Returns "4 MiB" for bytes, and other values as they are."""
    return shown_bytes(value) if knob.unit == "B" else str(value)


def shown_bytes(value):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value and value % size == 0:
            return f"{value // size} {unit}"
    return f"{value} B"


def tell(line):
    """Logs a line at level INFO. Where nobody has asked for that level it is written to standard
    error, unless HOCKET_TORCH_QUIET is set."""
    log.info("%s", line)
    is_shown = log.isEnabledFor(logging.INFO) and log.hasHandlers()
    if is_shown or os.environ.get("HOCKET_TORCH_QUIET"):
        return
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # closed, or not there: the program goes on as without hocket
