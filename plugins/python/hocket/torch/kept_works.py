"""Keeps the works of gloo groups for a while after they have ended.

A thread of the group drops its reference to a work a moment after the work has ended. If it is the
last one, that thread frees the work's tensors and needs the interpreter for it; while the
interpreter ends, PyTorch then aborts the program ("terminate called without an active exception").
"""

import atexit
import collections
import ctypes

KEPT = 256

_works = collections.deque(maxlen=KEPT)


def kept(work):
    """Returns the work, which is freed when so many others were kept after it."""
    _works.append(work)
    return work


def kept_for_good(what):
    """Returns it with a reference that nobody gives back, not even the interpreter at its end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))
    return what


@atexit.register
def _keep_works():
    kept_for_good(_works)
