"""One line in the job's log where NCCL has not taken hocket's plugin although its variables name it.

NCCL says nothing of a plugin that it cannot load, unless NCCL_DEBUG is set, and goes on without it.
"""

import torch.distributed as dist

from hocket import nccl
from hocket.torch.steps import after_each_step
from hocket.torch.voice import log

_watched = []


def uses_nccl(parameters):
    """Returns whether these parameters, of a wrapped model that has made a step, went over NCCL."""
    return (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
            and "nccl" in str(dist.get_backend()) and any(each.is_cuda for each in parameters))


def why_not_taken():
    """Returns why NCCL, which the process has used, is not tuned; None if it is, or need not be."""
    if not nccl.is_configured(nccl.environment) or nccl.environment("HOCKET_NCCL") == "off":
        return None
    taken = nccl.taken_times()
    if taken or (taken is None and nccl.mapped(nccl.PLUGIN)):  # an older plugin does not count
        return None
    version = nccl.version_of(nccl.mapped(nccl.NAME))
    return (f"NCCL {version}".rstrip() + " runs without hocket's plugin, which NCCL_TUNER_PLUGIN names: "
            + ("it has not opened it" if taken is None else "it has taken none of its interfaces")
            + "; `hocket doctor --job -- COMMAND` says why")


def _parameters(optimizer):
    return [each for group in optimizer.param_groups for each in group["params"]]


def watch(optimizer):
    """Looks once, on rank 0, after the optimizer's next step: its models have communicated then."""
    if _watched or not uses_nccl(_parameters(optimizer)) or dist.get_rank() != 0:
        return
    _watched.append(True)

    def look():
        end()
        why = why_not_taken()
        if why is not None:
            log.warning("hocket: %s", why)
    end = after_each_step(optimizer, look)
