"""tune(): what the ranks find out and agree on before the first step.

First they meet, without a collective: whoever is missing does not keep the others waiting. Then they
look whether they have the same model, and begin (opening.py).
"""

import os
from typing import NamedTuple

import torch.distributed as dist

from hocket.torch import buckets, fsdp1, nccl_plugin, prefetch
from hocket.torch.accelerators import accelerator_of, accelerator_text
from hocket.torch.crossed import Crossed
from hocket.torch.job import Job
from hocket.torch.offline import sweep
from hocket.torch.opening import Opening, agree, attempt
from hocket.torch.peers import Peers, ranks_of
from hocket.torch.subject import LeftAlone
from hocket.torch.traits import traits_of
from hocket.torch.voice import log

EXPLORE = 0.03
LONGEST_MEETING_S = 60.0
_NO = {"off", "0", "no", "false", ""}


def is_off():
    """Returns whether HOCKET_TORCH says that nothing is to be tuned."""
    return os.environ.get("HOCKET_TORCH", "on").lower() in _NO


def tune(model, optimizer, schedule=False, explore=EXPLORE, name=None,
         longest_meeting_s=LONGEST_MEETING_S):
    """Tunes a model wrapped by DistributedDataParallel, fully_shard or FullyShardedDataParallel.
    All ranks of its process group call it: where one has not after `longest_meeting_s`, nothing is
    tuned.

    `schedule`: also let communication cross the barrier between two iterations. `explore`: share of
    the training time that trying may cost; with 0 only what is pushed is taken. `name`: the model's
    in `hocket jobs`. HOCKET_TORCH_SCHEDULE, HOCKET_TORCH_EXPLORE and HOCKET_TORCH_MEETING_S
    override them. With HOCKET_TORCH=off, on all ranks, nothing is done.

    Raises nothing for a trouble of hocket's own: it logs a warning and returns a Job in which
    nothing is tuned.
    """
    if is_off():
        return Job(str(name or type(model).__name__), "HOCKET_TORCH=off")
    try:
        nccl_plugin.watch(optimizer)
        name = str(name or _name_of(model))
        longest_s = float(os.environ.get("HOCKET_TORCH_MEETING_S") or longest_meeting_s)
        return _tune(model, optimizer, _schedule(schedule), _explore(explore), name, longest_s)
    except LeftAlone as reason:
        if not reason.is_known:
            log.warning("hocket: %s: left alone: %s", name, reason)
        return Job(name, f"left alone: {reason}")
    except Exception as error:
        log.warning("hocket: %s: left alone: %s: %s", name, type(error).__name__, error)
        return Job(str(name), f"left alone: {type(error).__name__}: {error}")


def _schedule(given):
    word = os.environ.get("HOCKET_TORCH_SCHEDULE")
    return given if word is None else word.lower() not in _NO


def _explore(given):
    """Returns the share that HOCKET_TORCH_EXPLORE names, such as "3%" or "0.03"."""
    word = os.environ.get("HOCKET_TORCH_EXPLORE")
    if not word:
        return given
    return float(word[:-1]) / 100 if word.endswith("%") else float(word)


def _unwrapped(model):
    """Returns the program's own module."""
    outer = getattr(model, "_orig_mod", model)
    inner = outer.module if buckets.is_ddp(outer) or fsdp1.is_fsdp1(outer) else outer
    return getattr(inner, "_orig_mod", inner)


def _parameters(model):
    """Returns of each parameter its name, its number of elements, the bytes of one, and whether it
    is trained."""
    outer = getattr(model, "_orig_mod", model)
    if fsdp1.is_fsdp1(outer):
        return fsdp1.whole_parameters(outer)
    return [(name, parameter.numel(), parameter.element_size(), parameter.requires_grad)
            for name, parameter in _unwrapped(model).named_parameters()]


def _name_of(model):
    """Returns a name such as "GPT-5.0M": the model's class and how many parameters it has."""
    module = _unwrapped(model)
    # fully_shard derives a class from the model's.
    kind = type(module).__mro__[2] if prefetch.is_fsdp(module) else type(module)
    count = sum(elements for _, elements, *_ in _parameters(model))
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{kind.__name__}-{count / size:.1f}{unit}"
    return f"{kind.__name__}-{count}"


class _Plan(NamedTuple):
    """What a rank finds out about the model. It must be equal on all ranks."""

    kind: str
    knobs: tuple
    tensors: tuple
    crosses: bool


def _ranks_of(model):
    """Returns the ranks that train the model. Each rank finds them by itself."""
    module = getattr(model, "_orig_mod", model)
    if buckets.is_ddp(module) or fsdp1.is_fsdp1(module):
        return ranks_of(module.process_group)
    if prefetch.is_fsdp(module):
        return ranks_of()
    raise LeftAlone(f"{type(module).__name__} is not wrapped by DistributedDataParallel, "
                    "fully_shard or FullyShardedDataParallel")


def _tune(model, optimizer, schedule, explore, name, longest_s):
    if not (dist.is_available() and dist.is_initialized()):
        raise LeftAlone("torch.distributed is not initialized")
    peers = Peers(_ranks_of(model), longest_s)
    found, problem = attempt(_look, model, peers, schedule)
    agree(peers, problem)
    subject, plan = found
    agree(peers, None if peers.broadcast(plan) == plan else "its model differs from rank 0's")
    if plan.crosses:
        subject = Crossed(subject, optimizer, peers)
    job = Job(name, "")
    kind, problem = attempt(_kind_of, model, optimizer)
    agree(peers, problem)
    gpu, traits = kind
    opening = Opening(peers, plan.tensors, explore, accelerator_text(peers.gather(gpu)), traits)
    job.start(subject, optimizer, opening)
    return job


def _kind_of(model, optimizer):
    """Returns what a rank adds to the key: its GPU, and the traits, of which rank 0's count."""
    module = getattr(model, "_orig_mod", model)
    return accelerator_of(module), traits_of(model, module, optimizer)


def _look(model, peers, schedule):
    """Returns what can be changed in the model, and the plan."""
    module = getattr(model, "_orig_mod", model)
    is_compiled = module is not model
    if buckets.is_ddp(module):
        subject = buckets.Buckets(module, peers.ranks_on_host, is_compiled)
    elif is_compiled:
        raise LeftAlone("FSDP: the compiler arranges the communication of a compiled model; "
                        f"its passes are searched by {sweep('torch:inductor')}")
    elif fsdp1.is_fsdp1(module):
        subject = fsdp1.Fsdp1(module, peers.ranks_on_host)
    else:
        subject = prefetch.Prefetch(module, peers.ranks_on_host)
    tensors = tuple((name, elements * size)
                    for name, elements, size, is_trained in _parameters(model) if is_trained)
    return subject, _Plan(type(subject).__name__, subject.knobs, tensors,
                          bool(schedule) and buckets.is_ddp(module))
