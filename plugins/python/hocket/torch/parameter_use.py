"""Calls back when a program uses a parameter: in an operation, or for its gradient.

A watched parameter has a subclass of its class until it is released, so that PyTorch itself reports
each operation on it (__torch_function__), wherever the program does it: in a module's forward
pass, with tied weights, in a checkpoint, in an average of the weights, in gradient clipping.
"""

import torch

_PARAMETER = torch.nn.Parameter
GRADIENT = torch.Tensor.grad.__get__
SET_GRADIENT = torch.Tensor.grad.__set__

# Operations that do not read or change the values, so they need not wait.
_DESCRIPTIONS = {getattr(torch.Tensor, name).__get__ for name in (
    "shape", "dtype", "device", "layout", "requires_grad", "is_leaf", "ndim", "is_cuda",
    "is_sparse", "grad_fn", "_backward_hooks")} | {getattr(torch.Tensor, name) for name in (
        "size", "dim", "numel", "nelement", "stride", "is_contiguous", "element_size",
        "is_floating_point", "is_complex", "__len__", "get_device", "register_hook")}


def _watched(value, found, cls):
    """Appends the watched parameters in nested arguments to `found`."""
    if type(value) is cls:
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _watched(item, found, cls)
    elif isinstance(value, dict):
        for item in value.values():
            _watched(item, found, cls)


class ParameterUse:
    """Calls `used(parameter, function)` before a watched parameter is used; it has to release it,
    or to return a function that is called in the place of `function`."""

    def __init__(self, used):
        def report(cls, function, _, args=(), kwargs=None):
            kwargs = kwargs or {}
            if function in _DESCRIPTIONS:
                with torch._C.DisableTorchFunction():
                    return function(*args, **kwargs)
            found = []
            _watched(args, found, cls)
            _watched(kwargs, found, cls)
            for parameter in found:
                if type(parameter) is cls:  # else released with the one before it
                    instead = used(parameter, function)
                    if instead is not None:
                        return instead(*args, **kwargs)
                    parameter.__class__ = _PARAMETER  # if it is a copy that nobody watches
            return function(*args, **kwargs)

        # Named as what it stands for, since programs print types.
        self._class = type("Parameter", (_PARAMETER,), {
            "__torch_function__": classmethod(report), "__module__": _PARAMETER.__module__})

    def watch(self, parameters):
        for parameter in parameters:
            parameter.__class__ = self._class

    @staticmethod
    def release(parameters):
        for parameter in parameters:
            parameter.__class__ = _PARAMETER


def can_watch(parameter):
    return type(parameter) is _PARAMETER
