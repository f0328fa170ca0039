"""Steps an optimizer bucket by bucket, after the program has called step().

The program's calls of the optimizer keep their meaning: what they need is finished first, and what
can wait is noted for the buckets that are not summed yet.
"""

import functools
import inspect
import sys
import types

import torch

from hocket.torch import compiler

# Optimizers that update each parameter independently and keep no state in their groups.
_KNOWN = tuple(getattr(torch.optim, name) for name in (
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD",
    "Rprop"))


def why_not(optimizer):
    """Returns why the optimizer cannot be stepped in parts, or None."""
    if type(optimizer) not in _KNOWN:
        return (f"hocket does not know whether {type(optimizer).__name__} updates each parameter "
                "by itself")
    module = sys.modules[torch.optim.Optimizer.__module__]
    for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
        if getattr(optimizer, hooks, None):
            return "the optimizer has step hooks"
    for hooks in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"):
        if getattr(module, hooks, None):
            return "optimizers have step hooks"
    if any(torch.is_tensor(group.get("lr")) and group.get("capturable")
           for group in optimizer.param_groups):
        return "the optimizer is capturable, with a tensor as learning rate"
    return None


def _hyperparameters(group):
    return {name: value.clone() if torch.is_tensor(value) else value
            for name, value in group.items() if name != "params"}


class DeferredOptimizer:
    """`pending()` returns the buckets that are not finished; `flush(reason)` finishes them all;
    `before_step()` is called first by each step."""

    def __init__(self, optimizer, pending, flush, before_step):
        self.optimizer = optimizer
        self._pending, self._flush, self._before_step = pending, flush, before_step
        self._groups = None  # of each parameter, as of the lists below
        self._lists = None
        self._replace("step", self._step)
        self._replace("zero_grad", self._zero_grad)
        for name in ("state_dict", "load_state_dict", "add_param_group"):
            self._replace(name, self._finish_first)
        self.clearing = None  # while zero_grad runs: what it does to a gradient

    def _replace(self, name, instead):
        """A bound method, as schedulers of the learning rate expect it.

        It stays when crossing ends, since others may have wrapped it; with nothing pending it calls
        the original.
        """
        original = getattr(self.optimizer, name)

        @functools.wraps(original)
        def method(_, *arguments, **named):
            if compiler.is_tracing():
                return original(*arguments, **named)
            return instead(original, *arguments, **named)
        if hasattr(original, "hooked"):
            method.hooked = original.hooked
        setattr(self.optimizer, name, types.MethodType(method, self.optimizer))

    def _finish_first(self, original, *arguments, **named):
        self._flush(None)
        return original(*arguments, **named)

    def _step(self, original, closure=None, **named):
        if closure is None or why_not(self.optimizer) is not None:
            return self._step_alone(original, *filter(None, [closure]), **named)
        # The known optimizers call a closure like this, before anything else.
        with torch.enable_grad():
            loss = closure()
        self._step_alone(original, **named)
        return loss

    def _step_alone(self, original, *arguments, **named):
        self._before_step()
        if not self._pending():
            return original(*arguments, **named)
        if arguments or any(value is not None for value in named.values()):
            self._flush("optimizer.step() is called with arguments that hocket does not know")
        if any(bucket.armed is not None for bucket in self._pending()):
            self._flush("the optimizer steps more than once an iteration")
        reason = why_not(self.optimizer)
        if reason:
            self._flush(reason)
        if not self._pending():
            return original(*arguments, **named)
        self._note_step()
        groups = [_hyperparameters(group) for group in self.optimizer.param_groups]
        waiting = set()
        for bucket in self._pending():
            bucket.armed = (groups, self._split(bucket.parameters))
            waiting.update(bucket.parameters)
        rest = [[p for p in group["params"] if p not in waiting]
                for group in self.optimizer.param_groups]
        self.step_parts(groups, rest)
        return None

    def _note_step(self):
        """What schedulers of the learning rate look at."""
        self.optimizer._opt_called = True
        if hasattr(self.optimizer, "_step_count"):
            self.optimizer._step_count += 1

    def _split(self, parameters):
        """Returns the parameters of each group."""
        lists = [(id(group["params"]), len(group["params"]))
                 for group in self.optimizer.param_groups]
        if lists != self._lists:
            self._lists = lists
            self._groups = {p: i for i, group in enumerate(self.optimizer.param_groups)
                            for p in group["params"]}
        parts = [[] for _ in lists]
        for parameter in parameters:
            group = self._groups.get(parameter)
            if group is not None:
                parts[group].append(parameter)
        return parts

    def step_parts(self, groups, parts):
        """Steps the parts of the groups, with the hyper-parameters of the time of step()."""
        whole = self.optimizer.param_groups
        self.optimizer.param_groups = [{**group, "params": part}
                                       for group, part in zip(groups, parts) if part]
        try:
            if self.optimizer.param_groups:
                type(self.optimizer).step(self.optimizer)
        finally:
            self.optimizer.param_groups = whole

    def _zero_grad(self, original, *arguments, **named):
        self.clearing = clears_to(original, arguments, named)
        try:
            return original(*arguments, **named)
        finally:
            self.clearing = None


def clears_to(zero_grad, arguments, named):
    """Returns what a call of a zero_grad makes of a gradient: "none" or "zero"."""
    to_none = named.get("set_to_none")
    if to_none is None:
        to_none = arguments[0] if arguments else _default_of(zero_grad)
    return "none" if to_none else "zero"


@functools.cache
def _default_of(zero_grad):
    return inspect.signature(zero_grad).parameters["set_to_none"].default
