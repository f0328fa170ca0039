"""Tunes models of a program that does not call hocket: it watches what the program makes.

A model is tuned when an optimizer over its parameters has made its first step: the outermost one
where an optimizer steps within another, as in ZeroRedundancyOptimizer, because a rank whose shard is
empty has no inner one. The ranks that train the model reach that at the same step, and tune models
in the order in which they were wrapped: the collectives of tune() pair up, also with several models
in a process. A rank that does not reach it within a second is not waited for. PyTorch's own tools,
such as torchrun, wrap no model and are not affected.
"""

import functools
import logging
import os
import sys
import threading
import types
import weakref

import hocket_knobs

# This module is imported while PyTorch is; hocket.torch, which imports PyTorch, with a first step.
_waiting = []  # weak references to wrapped models, oldest first
_wrapped = []  # True once a model was wrapped
_LONGEST_MEETING_S = 1.0


class _Stepping(threading.local):
    """The optimizers of a thread that are within a step, and those of them whose first it is."""

    depth = 0

    def __init__(self):
        self.first = []


_stepping = _Stepping()


def _wait_for_step(module):
    _wrapped[:] = [True]
    if all(other() is not module for other in _waiting):
        _waiting.append(weakref.ref(module))


def _watch_wrapper(kind):
    inner = kind.__init__

    @functools.wraps(inner)
    def __init__(self, *arguments, **named):
        inner(self, *arguments, **named)
        _wait_for_step(self)
    kind.__init__ = __init__


def watch_ddp(imported):
    """Remembers models that DistributedDataParallel wraps, once it has."""
    hocket_knobs.begin()
    hocket_knobs.cap_buckets(imported.DistributedDataParallel)
    _watch_wrapper(imported.DistributedDataParallel)


def watch_fsdp1(imported):
    """Remembers modules that FullyShardedDataParallel wraps, once it has."""
    _watch_wrapper(imported.FullyShardedDataParallel)


def watch_fsdp(imported):
    """Remembers modules that fully_shard has sharded, where this version has it."""
    inner = getattr(imported, "fully_shard", None)
    if inner is None or not hasattr(imported, "FSDPModule"):
        return

    @functools.wraps(inner)
    def fully_shard(module, *arguments, **named):
        sharded = inner(module, *arguments, **named)
        for each in module if isinstance(module, (list, tuple)) else [module]:
            _wait_for_step(each)
        return sharded
    imported.fully_shard = fully_shard


def watch_optimizers(imported):
    """Looks for models to tune after the first step of each optimizer."""
    kind = imported.Optimizer
    inner = kind.__init__

    @functools.wraps(inner)
    def __init__(self, *arguments, **named):
        inner(self, *arguments, **named)
        _after_first_step(self)
    kind.__init__ = __init__


def _after_first_step(optimizer):
    """Replaces step() as hocket.torch.steps does, which is not imported for this."""
    inner = optimizer.step

    @functools.wraps(inner)
    def step(self, *arguments, **named):
        _stepping.depth += 1
        first = []
        try:
            result = inner(*arguments, **named)
            if not had_step:
                had_step.append(True)
                _stepping.first.append(self)
        finally:
            _stepping.depth -= 1
            if _stepping.depth == 0 and _stepping.first:
                first, _stepping.first = _stepping.first, []
        if first:
            hocket_knobs.check()
        if _stepping.depth == 0:
            hocket_knobs.stepped(self)
        for stepped in reversed(first):  # the outermost ended last
            _tune_models_of(stepped)
        if first and os.environ.get("HOCKET_DOCTOR_FILE"):
            _tell_doctor("step", first)
        return result
    had_step = []
    optimizer.step = types.MethodType(step, optimizer)


def watch_groups(imported):
    """Tells `hocket doctor` of a process that joins the others of its job."""
    inner = imported.init_process_group

    @functools.wraps(inner)
    def init_process_group(*arguments, **named):
        inner(*arguments, **named)
        _tell_doctor("group")
    imported.init_process_group = init_process_group


def _tell_doctor(event, optimizers=()):
    try:
        from hocket.load_report import report
        from hocket.torch.nccl_plugin import uses_nccl
        parameters = [each for optimizer in optimizers for group in optimizer.param_groups
                      for each in group["params"]]
        report(event, uses_nccl=bool(_wrapped) and uses_nccl(parameters))
    except Exception:
        pass  # the doctor then knows less of this process


def _parameters(optimizer):
    return {id(p) for group in optimizer.param_groups for p in group["params"]}


def _is_below(module, others):
    """Returns whether another module contains this one: only outermost ones are tuned."""
    return any(module is part for other in others if other is not module
               for part in other.modules())


def _tune_models_of(optimizer):
    stepped = _parameters(optimizer)
    modules = [module for module in (waiting() for waiting in _waiting) if module is not None]
    found = [module for module in modules if any(id(p) in stepped for p in module.parameters())]
    _waiting[:] = [weakref.ref(m) for m in modules if all(m is not other for other in found)]
    outermost = [module for module in found if not _is_below(module, found)]
    if not outermost:
        return
    try:
        _find_hocket()
        from hocket.torch import tune
    except Exception as error:
        # Usually on all ranks, as they run one program in one environment; if not, the others give up
        # waiting for this one within a second.
        # Unlike print(), logging lets the program go on where nobody reads standard error.
        logging.getLogger("hocket").warning("hocket: models are not tuned: %s: %s",
                                            type(error).__name__, error)
        return
    for module in outermost:
        tune(module, optimizer, longest_meeting_s=_LONGEST_MEETING_S)


def _find_hocket():
    """Finds the package beside this file also where PYTHONPATH names this folder alone."""
    folder = os.path.abspath(__file__)
    for _ in range(4):
        folder = os.path.dirname(folder)
    if folder not in sys.path:
        sys.path.append(folder)
