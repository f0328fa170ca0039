"""What crossing is wrong for, or gains nothing with."""

import collections

import torch

from hocket.library import Error, library
from hocket.torch import compiler
from hocket.torch.deferred_optimizer import why_not as why_not_in_parts
from hocket.torch.parameter_use import can_watch

# The ranks tell each other a reason by its place.
REASONS = (
    "",
    "all gradients are used before optimizer.step(), as by gradient clipping and GradScaler, so "
    "there is nothing to gain",
    "all parameters are used between the iterations, so there is nothing to gain",
    "the optimizer cannot be stepped in parts",
    "the program is compiled",
    "Join is in use",
    "gradients are changed in place before optimizer.step(), as by gradient clipping",
    "the schedule cannot be opened",
    "the program keeps references to parameters' values, such as of detach(), which would not wait",
)
EARLY_GRADIENT, EARLY_PARAMETER, OPTIMIZER, COMPILED, JOIN, CHANGED, SCHEDULE, KEPT = range(
    1, len(REASONS))


def has_kept_values(parameters):
    """Returns whether other tensors share the parameters' memory, through which nothing reports a
    use. False where this PyTorch cannot tell."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    if count is None:
        return False
    with torch._C.DisableTorchFunction():
        storages = [parameter.untyped_storage() for parameter in parameters]
    sharing = collections.Counter(storage._cdata for storage in storages)
    # The tensors' own references, and that of the object that stands for the storage here.
    return any(count(storage._cdata) > sharing[storage._cdata] + 1 for storage in storages)


def why_not(ddp, optimizer):
    """Returns why this rank cannot cross, or None."""
    parameters = [p for p in ddp.parameters() if p.requires_grad]
    if any(p.device.type != "cpu" for p in parameters):
        return "parameters are not on the CPU"
    if any(not can_watch(p) for p in parameters):
        return "parameters are of a class of their own"
    if any(getattr(p, "_post_accumulate_grad_hooks", None) for p in parameters):
        return "parameters have hooks after the accumulation of their gradients"
    if any(ddp._build_params_for_reducer()[1]):
        return "gradients are sparse"
    if getattr(ddp, "mixed_precision", None) is not None:
        return "DDP has a mixed precision of its own"
    if ddp._get_ddp_logging_data().get("comm_hook"):
        return "the program has a communication hook of its own"
    if any(isinstance(part, torch.jit.ScriptModule) for part in ddp.modules()):
        return "a module is compiled by TorchScript"
    if compiler.has_compiled_part(ddp) or compiler.is_used():
        return REASONS[COMPILED]
    try:
        library()
    except Error as error:
        return str(error)
    return why_not_in_parts(optimizer)
