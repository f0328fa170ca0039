"""How the ranks of a model begin: rank 0 asks for a setting, the others follow, and all apply it.

Each collective is called by all ranks in the same order. Between two of them, what fails on a rank
becomes its problem, a text. The ranks agree on whether there is one: then all leave the model
alone.
"""

import dataclasses
import os
import weakref
from typing import NamedTuple

from hocket import hardware
from hocket.client import Client, Standing
from hocket.torch.subject import LeftAlone

_NO_SCHEDULER_KNOBS = {"start": {}, "running": {}}


class Start(NamedTuple):
    """What rank 0 finds out, and what then holds on all ranks."""

    config: str
    values: dict
    source: str
    is_live: bool  # the setting may change while the job trains
    why: str  # it may not
    is_searched: bool  # values are also tried, not only taken when they are pushed
    search: str  # what the ended search of its key came to; "" while it goes on
    topology: dict


def attempt(function, *arguments):
    """Returns its result and no problem, or None and the problem."""
    try:
        return function(*arguments), None
    except LeftAlone as reason:
        return None, str(reason)
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def agree(peers, problem):
    """Raises LeftAlone on all ranks where one has a problem."""
    reason = peers.agree(problem)
    if reason is not None:
        raise LeftAlone(reason, is_known=peers.rank > 0)


def _apply(subject, values):
    refusal = subject.accept(values)
    if refusal is not None:
        raise LeftAlone(refusal)
    subject.apply(values)


def is_trial():
    """Returns whether a study runs this program, with a setting of its own."""
    return bool(os.environ.get("HOCKET_CONFIG"))


def _why_not(subject, standing, why):
    """Returns why a setting stays as it is while the job trains."""
    if is_trial():
        return "a study's trial"
    if not os.environ.get("HOCKET_DAEMON"):
        return "no daemon is named in HOCKET_DAEMON (`hocket serve` starts one)"
    return why if standing == Standing.NONE else subject.why_fixed


def _weakly(method):
    """Returns a call of it that keeps nothing alive: a client, which lives to the end of the
    program, must not keep a model that the program has dropped."""
    weak = weakref.WeakMethod(method)

    def call(*arguments):
        strong = weak()
        return strong(*arguments) if strong is not None else None
    return call


class Opening:
    """How a rank opens its clients for a model. `tensors` and `traits`: the model's, as of
    hocket.Client. `accelerator`: the GPUs on which it computes. Rank 0's traits and its host are
    those of the key."""

    def __init__(self, peers, tensors, explore, accelerator, traits):
        self.peers = peers
        self._tensors, self._explore = tensors, explore
        self._accelerator, self._traits = accelerator, traits
        # Without a daemon nothing changes while the job trains, nor in a study's trial.
        self._may_be_live = bool(os.environ.get("HOCKET_DAEMON")) and not is_trial()

    def begin(self, job, subject, problem=None):
        """Returns this rank's client, None where nothing is to be reported, and a Start, whose
        values are in force. `problem`: why this rank cannot begin. All ranks call it; raises
        LeftAlone on all of them where one has a problem, and undoes what was changed."""
        client = start = None
        if self.peers.rank == 0 and problem is None:
            found, problem = attempt(self._ask, job, subject)
            client, start = found or (None, None)
        start, problem_of_first = self.peers.broadcast((start, problem))
        problem = problem or problem_of_first
        if problem is None and self.peers.rank > 0:
            client, problem = attempt(self._follow, job, subject, start)
        if problem is None:
            _, problem = attempt(_apply, subject, start.values)
        try:
            agree(self.peers, problem)
        except LeftAlone:
            if client is not None:
                client.close()
            subject.undo()
            raise
        return client, start

    def _open(self, job, subject, is_live, topology, config=None):
        peers = self.peers
        usual = {knob.name: knob.usual for knob in subject.knobs}
        accept = _weakly(subject.accept)
        return Client(
            job.name, self._tensors, topology=topology, traits=self._traits, rank=peers.rank,
            config=config,
            own_knobs=[dataclasses.replace(knob, running=knob.running and is_live)
                       for knob in subject.knobs],
            explore=self._explore, can_run=_NO_SCHEDULER_KNOBS, warn=_weakly(job.warn),
            say=_weakly(job.say), on_profile=_weakly(job.profile),
            accept=lambda given: accept({**usual, **given.get("job", {})}))

    def _ask(self, job, subject):
        """Rank 0: returns its client, if one is needed from now on, and what holds."""
        peers = self.peers
        topology = hardware.topology(peers.world_size, "local" if peers.is_one_host else "tcp",
                                     self._accelerator, peers.ranks_per_host)
        client = self._open(job, subject, self._may_be_live, topology)
        values = {knob.name: client.get(f"job.{knob.name}") for knob in subject.knobs}
        source = ": ".join(text for text in (client.source, client.detail) if text)
        standing, why = client.daemon()
        has_daemon = standing != Standing.NONE
        start = Start(client.config, values, source, has_daemon and client.ballot_size > 0,
                      _why_not(subject, standing, why), self._explore > 0, client.search,
                      topology)
        if not (has_daemon or is_trial()):
            client.close()  # there is nobody to report to
            client = None
        return client, start

    def _follow(self, job, subject, start):
        """Returns another rank's client, which needs one only to change its setting."""
        if not start.is_live:
            return None
        return self._open(job, subject, True, start.topology, start.config)
