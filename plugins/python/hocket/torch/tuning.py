"""tune(): what the ranks find out and agree on before the first step.

First they meet, without a collective: whoever is missing does not keep the others waiting. Then each
collective is called by all ranks in the same order. Between two of them, what fails on a rank
becomes its problem, a text. The ranks agree on whether there is one: then all leave the model
alone.
"""

import dataclasses
import os
import weakref
from typing import NamedTuple

import torch.distributed as dist

from hocket.client import Client, Standing
from hocket.torch import buckets, fsdp1, prefetch
from hocket.torch.crossed import Crossed
from hocket.torch.job import Job
from hocket.torch.peers import Peers, ranks_of
from hocket.torch.subject import LeftAlone
from hocket.torch.voice import log

EXPLORE = 0.03
LONGEST_MEETING_S = 60.0
_NO_SCHEDULER_KNOBS = {"start": {}, "running": {}}
_NO = {"off", "0", "no", "false", ""}


def is_off():
    """Returns whether HOCKET_TORCH says that nothing is to be tuned."""
    return os.environ.get("HOCKET_TORCH", "on").lower() in _NO


def tune(model, optimizer, schedule=False, explore=EXPLORE, name=None,
         longest_meeting_s=LONGEST_MEETING_S):
    """Tunes a model wrapped by DistributedDataParallel, fully_shard or FullyShardedDataParallel. All ranks of its process
    group call it: where one has not after `longest_meeting_s`, nothing is tuned.

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


class _Start(NamedTuple):
    """What rank 0 finds out, and what then holds on all ranks."""

    config: str
    values: dict
    source: str
    is_live: bool  # the setting may change while the job trains
    why: str  # it may not
    is_searched: bool  # values are also tried, not only taken when they are pushed


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
    found, problem = _attempt(_look, model, peers, schedule)
    _agree(peers, problem)
    subject, plan = found
    _agree(peers, None if peers.broadcast(plan) == plan else "its model differs from rank 0's")
    if plan.crosses:
        subject = Crossed(subject, optimizer, peers)
    job = Job(name, "")
    # Without a daemon nothing changes while the job trains, nor in a study's trial.
    is_live = bool(os.environ.get("HOCKET_DAEMON")) and not os.environ.get("HOCKET_CONFIG")
    opening = _Opening(peers, subject, plan, explore, job)
    client = start = problem = None
    if peers.rank == 0:
        found, problem = _attempt(opening.ask, is_live)
        client, start = found or (None, None)
    start, problem = peers.broadcast((start, problem))
    if problem is None and peers.rank > 0:
        client, problem = _attempt(opening.follow, start)
    if problem is None:
        _, problem = _attempt(subject.apply, start.values)
    try:
        _agree(peers, problem)
    except LeftAlone:
        _undo(subject, client)
        raise
    job.start(subject, optimizer, client, peers, start)
    return job


def _attempt(function, *arguments):
    """Returns its result and no problem, or None and the problem."""
    try:
        return function(*arguments), None
    except LeftAlone as reason:
        return None, str(reason)
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _agree(peers, problem):
    """Raises LeftAlone on all ranks where one has a problem."""
    reason = peers.agree(problem)
    if reason is not None:
        raise LeftAlone(reason, is_known=peers.rank > 0)


def _why_not(subject, standing, why):
    """Returns why a setting stays as it is while the job trains."""
    if os.environ.get("HOCKET_CONFIG"):
        return "a study's trial"
    if not os.environ.get("HOCKET_DAEMON"):
        return "no daemon is named in HOCKET_DAEMON (`hocket serve` starts one)"
    return why if standing == Standing.NONE else subject.why_fixed


def _undo(subject, client):
    if client is not None:
        client.close()
    subject.undo()


def _look(model, peers, schedule):
    """Returns what can be changed in the model, and the plan."""
    module = getattr(model, "_orig_mod", model)
    is_compiled = module is not model
    if buckets.is_ddp(module):
        subject = buckets.Buckets(module, peers.ranks_on_host, is_compiled)
    elif is_compiled:
        raise LeftAlone("FSDP: the compiler arranges the communication of a compiled model")
    elif fsdp1.is_fsdp1(module):
        subject = fsdp1.Fsdp1(module, peers.ranks_on_host)
    else:
        subject = prefetch.Prefetch(module, peers.ranks_on_host)
    tensors = tuple((name, elements * size)
                    for name, elements, size, is_trained in _parameters(model) if is_trained)
    return subject, _Plan(type(subject).__name__, subject.knobs, tensors,
                          bool(schedule) and buckets.is_ddp(module))


def _weakly(method):
    """Returns a call of it that keeps nothing alive: a client, which lives to the end of the
    program, must not keep a model that the program has dropped."""
    weak = weakref.WeakMethod(method)

    def call(*arguments):
        strong = weak()
        return strong(*arguments) if strong is not None else None
    return call


class _Opening:
    """How a rank opens its client."""

    def __init__(self, peers, subject, plan, explore, job):
        self._peers, self._subject, self._job = peers, subject, job
        self._plan, self._explore = plan, explore

    def _open(self, is_live, config=None):
        peers, subject, job = self._peers, self._subject, self._job
        usual = {knob.name: knob.usual for knob in subject.knobs}
        accept = _weakly(subject.accept)
        return Client(
            job.name, self._plan.tensors, world_size=peers.world_size,
            link="local" if peers.is_one_host else "tcp", rank=peers.rank, config=config,
            own_knobs=[dataclasses.replace(knob, running=knob.running and is_live)
                       for knob in subject.knobs],
            explore=self._explore, can_run=_NO_SCHEDULER_KNOBS, warn=_weakly(job.warn),
            say=_weakly(job.say), on_profile=_weakly(job.profile),
            accept=lambda given: accept({**usual, **given.get("job", {})}))

    def ask(self, is_live):
        """Rank 0: returns its client, if one is needed from now on, and what holds."""
        client = self._open(is_live)
        values = {knob.name: client.get(f"job.{knob.name}") for knob in self._subject.knobs}
        source = ": ".join(text for text in (client.source, client.detail) if text)
        standing, why = client.daemon()
        has_daemon = standing != Standing.NONE
        start = _Start(client.config, values, source, has_daemon and client.ballot_size > 0,
                       _why_not(self._subject, standing, why), self._explore > 0)
        if not (has_daemon or os.environ.get("HOCKET_CONFIG")):
            client.close()  # there is nobody to report to
            client = None
        return client, start

    def follow(self, start):
        """Returns another rank's client, which needs one only to change its setting."""
        return self._open(True, start.config) if start.is_live else None
