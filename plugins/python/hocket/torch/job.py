"""A model that is tuned while it trains: its steps, its ballots and its changes."""

import atexit
import logging
import os

import torch

from hocket.torch.peers import Ballots
from hocket.torch.steps import StepTimes, Watch, after_each_step

log = logging.getLogger("hocket")
LONGEST_CLOSE_S = 1.0


class Job:
    """What hocket.torch.tune() returns. It is not needed: the job is tuned without it, too.

    All functions may be called at any time, also after the end; none raises.
    """

    def __init__(self, name, why):
        """A job in which nothing is tuned, for this reason."""
        self.name, self._why = name, why
        self._client = self._subject = self._ballots = self._pending = None
        self._restore = None
        self._hooks = []
        self._values, self._source, self._pid = {}, "", os.getpid()

    @property
    def is_tuning(self):
        """Whether the setting may still change."""
        return self._ballots is not None

    @property
    def values(self):
        """The knobs' values in force, by name; empty where hocket can change nothing."""
        return dict(self._values)

    def start(self, subject, optimizer, client, peers, start):
        """Begins with the values in force. `client` is None where nothing is to be reported."""
        self._subject, self._values, self._source = subject, start.values, start.source
        self._why = start.why
        if client is None:
            return
        self._client = client
        self._step = 0
        self._times = StepTimes(on_cuda=next(subject.module.parameters()).is_cuda)
        self._restore = after_each_step(optimizer, self._step_ended)
        if start.is_live:
            self._ballots = Ballots(client, peers.group)
            self._watch_model(subject.module)
        atexit.register(self.close)

    def warn(self, message):
        log.warning("hocket: %s: %s", self.name, message)

    def say(self, line):
        log.info("hocket: %s: %s", self.name, line)

    def _watch_model(self, module):
        self._hooks = [
            module.register_forward_pre_hook(Watch(self, "_before_forward"),
                                             **self._subject.hook_options),
            # Writing a checkpoint takes the state first.
            module._register_state_dict_hook(Watch(self, "_interrupted"))]

    def _interrupted(self):
        self._times.interrupted = True

    def _before_forward(self):
        if not torch.is_grad_enabled():
            self._times.interrupted = True  # an evaluation
        elif self._pending is not None:
            values, self._pending = self._pending, None
            try:
                self._change(values)
            except Exception as error:
                self._warn_and_leave(error)

    def _change(self, values):
        """Puts values into force, on all ranks before the same iteration."""
        if self._subject.ended() is not None:
            return
        self._subject.apply(values)
        self._values = values
        log.debug("hocket: %s: step %d: %s", self.name, self._step, values)

    def _step_ended(self):
        # A forked child trains, if at all, by itself.
        if self._client is None or os.getpid() != self._pid:
            return
        try:
            self._advance()
        except Exception as error:
            self._warn_and_leave(error)

    def _advance(self):
        step, self._step = self._step, self._step + 1
        if self._ballots is None:
            times = self._times.ended(step)
            if times:
                self._client.report([seconds for _, seconds in times])
            return
        # It holds on all ranks at the same step: none issues another ballot.
        ended = self._subject.ended()
        if ended is not None:
            self._end(f"hocket: {self.name}: tuned no longer: {ended}")
            return
        try:
            goes_on = self._ballots.exchange()
        except RuntimeError as error:
            # The group has failed, and with it the ballots of all ranks.
            self._end(f"hocket: {self.name}: tuned no longer: {error}")
            return
        if not goes_on:
            self._end(f"hocket: {self.name}: tuned no longer: a rank has left")
            return
        if self._ballots.leaving is None:
            self._take_step(step)

    def _take_step(self, step):
        for measured, seconds in self._times.ended(step):
            self._client.iteration(measured, seconds)
        if self._client.step_ended():
            self._pending = self._read_values()

    def _read_values(self):
        return {name: self._client.get(f"job.{name}") for name in self._values}

    def _warn_and_leave(self, error):
        """Ends the tuning on this rank at once, and with the next ballot on all others."""
        log.warning("hocket: %s: tuned no longer: %s: %s", self.name, type(error).__name__, error)
        if self._ballots is None:
            self._end(None)
        elif self._ballots.leaving is None:
            self._ballots.leaving = str(error)

    def _end(self, message):
        """Ends the tuning; what is in force stays. A change that all ranks wait for still comes."""
        if message:
            log.warning("%s", message)
            self._why = message.rpartition("tuned no longer: ")[2]
        if self._restore:
            self._restore()
        self._ballots = self._restore = None
        self._close_client()

    def _close_client(self):
        client, self._client = self._client, None
        if client is None:
            return
        try:
            client.close()
        except Exception as error:
            log.warning("hocket: %s: %s", self.name, error)

    def close(self):
        """Ends the tuning and reports it; what is in force stays. May be called again."""
        if os.getpid() != self._pid:
            return
        if self._ballots is not None:
            self._ballots.finish(LONGEST_CLOSE_S)
        if self._client is not None:
            self._why = "closed"
        self._end(None)
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._pending = [], None
        atexit.unregister(self.close)

    def status(self):
        """Returns lines for people: what is in force, where it is from, and whether it changes."""
        usual = {knob.name: knob.usual for knob in self._subject.knobs} if self._subject else {}
        lines = [f"{self.name}: " + ("tuned while it trains" if self.is_tuning
                                     else f"not tuned: {self._why}")]
        for name, value in self._values.items():
            default = "" if value == usual[name] else f" (PyTorch's own: {usual[name]})"
            lines.append(f"  {name} {value}{default}")
        if self._source:
            lines.append(f"  at first from: {self._source}")
        return "\n".join(lines)
