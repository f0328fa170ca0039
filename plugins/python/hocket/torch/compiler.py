"""What hocket needs to know of torch.compile: compiled code reports no use of a parameter to a
crossing, and calls no hook."""

import contextlib
import sys

import torch

_is_watched = False  # whether hocket learns of it before something is compiled


def is_compiled(module):
    """Returns whether the module is compiled in place, by module.compile()."""
    return getattr(module, "_compiled_call_impl", None) is not None


def has_compiled_part(module):
    return any(hasattr(part, "_orig_mod") or is_compiled(part) for part in module.modules())


def is_used():
    """Returns whether something of this process is compiled."""
    dynamo = sys.modules.get("torch._dynamo")
    return bool(dynamo and dynamo.utils.counters["frames"].get("total"))


def is_tracing():
    """Returns whether the caller is being compiled; then it shall do nothing of its own."""
    return _is_watched and torch.compiler.is_compiling()


def watch(call):
    """Lets PyTorch call `call` before it compiles something. To be called in every iteration, since
    torch._dynamo.reset() forgets it. Does nothing where this PyTorch cannot do it."""
    global _is_watched
    handler = getattr(sys.modules.get("torch._dynamo"), "callback_handler", None)
    if handler is None:
        return
    _is_watched = True
    if call not in handler.start_callbacks:
        handler.register_start_callback(call)


@contextlib.contextmanager
def suspended():
    """Lets optimizers compute as ever within a call that watch() has arranged."""
    before = getattr(torch.compiler, "_is_compiling_flag", None)
    if before is None:
        yield
        return
    torch.compiler._is_compiling_flag = False
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = before
