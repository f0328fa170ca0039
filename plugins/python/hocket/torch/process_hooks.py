"""What all crossings of a process share: zero_grad of modules, the compiler, and the end of the
program."""

import atexit
import functools
import weakref

import torch

from hocket.torch import compiler
from hocket.torch.deferred_optimizer import clears_to

_crossings = weakref.WeakSet()
_clearing = None


def add(crossing):
    """`crossing.close_at_exit()` is called at the end of the program, unless it is discarded."""
    _watch_zero_grad()
    _close_all_at_exit()
    _crossings.add(crossing)


discard = _crossings.discard


def clearing():
    """Returns what a zero_grad of a module that is running does to a gradient, or None."""
    return _clearing


@functools.cache
def _watch_zero_grad():
    """Lets Module.zero_grad note what it is to clear. It is replaced in the class, since models
    are copied and pickled with what they have of their own."""
    zero_grad = torch.nn.Module.zero_grad

    @functools.wraps(zero_grad)
    def noted(self, *arguments, **named):
        global _clearing
        if compiler.is_tracing():
            return zero_grad(self, *arguments, **named)
        if _crossings:
            _clearing = clears_to(zero_grad, arguments, named)
        try:
            return zero_grad(self, *arguments, **named)
        finally:
            _clearing = None
    torch.nn.Module.zero_grad = noted


def _before_compiling(*_):
    with compiler.suspended():
        for crossing in list(_crossings):
            crossing.before_compiling()


def watch_compiler():
    """Calls `crossing.before_compiling()`. To be called in every iteration."""
    compiler.watch(_before_compiling)


@functools.cache
def _close_all_at_exit():
    @atexit.register
    def close():
        for crossing in list(_crossings):
            crossing.close_at_exit()
