"""What else than its tensors and its hardware changes the best setting of a model: a part of its
key.

Only what is known before the first step and the same in every run, since the setting of the key is
taken before that step. So these stay out: how many micro-batches an optimizer step accumulates, the
batch and the sequence, and autocast, which the program shows in its steps alone. A rank's
collectives do not show them, which have the same bytes, nor do its times, by which a noisy host
would be another key in each run. They show themselves by iterations that take another time than the
key's search has recorded, and the daemon then searches again (docs/guides/live-tuning.md).
"""

import torch

from hocket.torch import buckets, compiler, prefetch

_COMPRESSED = {"fp16": "float16", "bf16": "bfloat16"}


def traits_of(model, module, optimizer):
    """Returns the traits of `module`, which DistributedDataParallel or fully_shard has wrapped and
    `model` is or compiles, as texts by name."""
    traits = {"optimizer": _optimizer(optimizer), "gradients": _gradients(module)}
    if model is not module or compiler.has_compiled_part(module):
        traits["compiled"] = "yes"
    if getattr(module, "find_unused_parameters", False):
        traits["find_unused_parameters"] = "yes"
    return traits


def _optimizer(optimizer):
    """Returns the kind, with that of the optimizer within it: "ZeroRedundancyOptimizer(AdamW)"."""
    name = type(optimizer).__name__
    # A rank whose shard is empty has no inner optimizer, but knows its class.
    inner = getattr(optimizer, "_optim_constructor", None)
    if isinstance(inner, type):
        return f"{name}({inner.__name__})"
    for inner in (getattr(optimizer, "optim", None), getattr(optimizer, "optimizer", None)):
        if isinstance(inner, torch.optim.Optimizer) and inner is not optimizer:
            return f"{name}({_optimizer(inner)})"
    return name


def _gradients(module):
    """Returns the types in which gradients are communicated: "float32", "bfloat16, float32"."""
    if buckets.is_ddp(module):
        hook = module._get_ddp_logging_data().get("comm_hook", "").lower()
        for word, name in _COMPRESSED.items():
            if word in hook:
                return name
    elif (reduced := _reduced_type(module)) is not None:
        return _name(reduced)
    return ", ".join(sorted({_name(parameter.dtype) for parameter in module.parameters()
                             if parameter.requires_grad}))


def _reduced_type(module):
    if prefetch.is_fsdp(module):
        return prefetch.reduced_type(module)
    policy = getattr(module, "mixed_precision", None)  # of FSDP1
    return getattr(policy, "reduce_dtype", None) or getattr(policy, "param_dtype", None)


def _name(dtype):
    return str(dtype).rpartition(".")[2]
