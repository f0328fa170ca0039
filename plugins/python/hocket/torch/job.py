"""A model that is tuned while it trains: its steps, its ballots and its changes."""

import atexit
import functools
import logging
import os
import time
import weakref

import torch

from hocket.client import Standing
from hocket.torch.buckets import COMPILED
from hocket.torch.cadence import Cadence
from hocket.torch.counters import Counters
from hocket.torch.news import News, settings_text
from hocket.torch.opening import is_trial
from hocket.torch.peers import Ballots
from hocket.torch.steps import StepTimes, Watch, after_each_step
from hocket.torch.subject import LeftAlone
from hocket.torch.trace import TraceRecorder
from hocket.torch.voice import is_news, log, shown, tell

LONGEST_CLOSE_S = 5.0
# Rounds, on all ranks the same ones: asking DDP for its times takes about as long as a ballot.
COUNTED_EVERY = 2


def _close(weak):
    job = weak()
    if job is not None:
        job.close()


class Job:
    """What hocket.torch.tune() returns. It is not needed: the job is tuned without it, too.

    All functions may be called at any time, also after the end; none raises.
    """

    def __init__(self, name, why):
        """A job in which nothing is tuned, for this reason."""
        self.name, self._why = name, why
        self._client = self._subject = self._ballots = self._pending = None
        self._recorder = self._news = None
        self._restore = self._at_exit = None
        self._hooks = []
        self._begins_anew = False
        self.is_compiled = False  # after tune(), by torch.compile(model)
        self._values, self._source, self._pid = {}, "", os.getpid()

    @property
    def is_tuning(self):
        """Whether the setting may still change."""
        return self._ballots is not None

    @property
    def values(self):
        """The knobs' values in force, by name; empty where hocket can change nothing."""
        return dict(self._values)

    def start(self, subject, optimizer, opening):
        """All ranks call it. Raises LeftAlone on all of them where one cannot begin."""
        self._opening = opening
        self._begin(subject)
        if self._client is None and not subject.may_lessen:
            return
        self._restore = after_each_step(optimizer, self._step_ended)
        self._at_exit = functools.partial(_close, weakref.ref(self))
        atexit.register(self._at_exit)

    def _begin(self, subject, problem=None):
        client, start = self._opening.begin(self, subject, problem)
        peers = self._opening.peers
        self._subject, self._values, self._source = subject, start.values, start.source
        self._why, self._client = start.why, client
        self._step = self._round = self._steps_in_round = 0
        self._is_first, self._cadence = peers.rank == 0, Cadence()
        self._times = StepTimes(on_cuda=next(subject.module.parameters()).is_cuda)
        if self._is_first:
            self._announce(start)
        if start.is_live:
            self._ballots = Ballots(client, peers.group)
            self._counters = Counters(subject.module)
            self._recorder = TraceRecorder(peers.rank, peers.world_size, peers.group,
                                           lambda: client.config, client.save_traces, self.warn)
            if not self._hooks:
                self._watch_model(subject.module)

    def _begin_anew(self, subject):
        """Goes on as a job of what can still be changed, with what was learned of such jobs."""
        if is_trial():
            self._end("knobs of this trial have no effect any more")
            return
        problem, self._pending = None, None
        if self._ballots is not None:
            self._ballots.finish(LONGEST_CLOSE_S)
            problem, self._ballots = self._ballots.leaving, None
            if not self._recorder.close(LONGEST_CLOSE_S):
                problem = problem or "a profile is still being saved"
        self._begins_anew = True  # the summary of the few iterations so far is no news
        self._close_client()
        self._begins_anew = False
        self._subject, self._values = subject, {knob.name: knob.usual for knob in subject.knobs}
        try:
            self._begin(subject, problem)
        except LeftAlone as reason:
            self._end(f"left alone: {reason}")
        if self._client is None and self._restore is not None:
            self._end(None)

    def _announce(self, start):
        settings = settings_text(self._subject.knobs, self._values)
        has_usual = all(self._values[knob.name] == knob.usual for knob in self._subject.knobs)
        if self._subject.note and has_usual:
            settings += f" ({self._subject.note})"
        if start.is_live:
            self._news = News(self.name, settings, start.is_searched, start.search)
        elif not is_trial():  # of trials `hocket tune` tells
            tell(f"hocket: {self.name}: not tuned: {start.why}; it trains with {settings}")

    def warn(self, message):
        log.warning("hocket: %s: %s", self.name, message)

    def say(self, line):
        speak = tell if is_news(line) and not self._begins_anew else log.info
        speak(f"hocket: {self.name}: {line}")

    def profile(self, first_round, rounds):
        """Records steps on all ranks, as `hocket profile` asks for them."""
        if self._recorder is not None:
            self._recorder.request(first_round, rounds)

    def _watch_model(self, module):
        self._hooks = [
            module.register_forward_pre_hook(Watch(self, "_before_forward"),
                                             **self._subject.hook_options),
            # Writing a checkpoint takes the state first, of the model that DDP wraps or with DDP.
            getattr(module, "module", module)._register_state_dict_hook(
                Watch(self, "_interrupted"))]

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
                self._leave(error)

    def _change(self, values):
        """Puts values into force, on all ranks before the same iteration."""
        if self._subject.ended() is not None:
            return
        self._subject.apply(values)
        self._values = values
        log.debug("hocket: %s: step %d: %s", self.name, self._step, values)

    def _step_ended(self):
        # A forked child trains, if at all, by itself.
        if self._restore is None or os.getpid() != self._pid:
            return
        try:
            self._advance()
        except Exception as error:
            self._leave(error)

    def _advance(self):
        began = time.perf_counter()
        self._step += 1
        self._steps_in_round += 1
        if not self._subject.is_in_force():
            self._times.interrupted = True
        if self._ballots is None:
            self._report()
            return
        is_last = self._steps_in_round >= self._ballots.steps
        self._recorder.iteration_begins(self._round + is_last, self._step)
        if is_last:
            self._end_round(began)

    def _report(self):
        rest = self._subject.rest() if self._subject.ended() is None else None
        if rest is not None:
            self._begin_anew(rest)
            return
        times = self._times.ended(self._next_round())
        if times and self._client is not None:
            self._client.report([seconds for _, seconds in times])

    def _next_round(self):
        number, self._round = self._round, self._round + 1
        self._steps_in_round = 0
        return number

    def _end_round(self, began):
        """The step of the client: its ballot, its time, and what changes after it."""
        steps, number = self._steps_in_round, self._next_round()
        # It holds on all ranks at the same step: none issues another ballot.
        ended = self._ended()
        if ended is not None:
            self._end(ended, is_known=True)
            return
        rest = self._subject.rest()
        if rest is not None:
            self._begin_anew(rest)
            return
        try:
            goes_on = self._ballots.exchange(self._cadence.steps if self._is_first else 0)
        except RuntimeError as error:
            # The group has failed, and with it the ballots of all ranks.
            self._end(error)
            return
        if goes_on:
            self._take_step(number, steps, began)
        else:
            why = self._ballots.leaving
            self._end(why or "another rank has left", is_known=not why or self._ballots.all_leave)

    def _ended(self):
        """Returns why the tuning ends at this step on all ranks; None if it goes on.

        Whatever fails here, this rank's next ballot is issued: the others wait for it.
        """
        try:
            if self.is_compiled:
                self._ballots.leave(COMPILED)
            return self._subject.ended()
        except Exception as error:
            self._ballots.leave(error)
            return None

    def _take_step(self, number, steps, began):
        try:
            counted = self._counters.last() if number % COUNTED_EVERY == 0 else None
            self._client.program_step(self._step)
            times = self._times.ended(number, steps)
            for measured, seconds in times:
                self._client.iteration(measured, seconds)
                self._cadence.add(time.perf_counter() - began, seconds)
        except Exception as error:
            self._ballots.leave(error)
            counted = None
        # The others change with this step, too.
        changes = self._client.step_ended()
        if counted is not None:
            self._client.counted(number, *counted)
        if self._news is not None and self._ballots.leaving is None:
            self._news.step_ended(self._client, self._step, self._values)
        if changes:
            self._pending = {knob.name: self._client.get(f"job.{knob.name}")
                             for knob in self._subject.knobs}

    def _leave(self, error):
        """Ends the tuning: with ballots, on all ranks after the next one."""
        if self._ballots is None:
            self._end(f"{type(error).__name__}: {error}")
        else:
            self._ballots.leave(error)

    def _end(self, why, longest_wait_s=0, is_known=False):
        """Ends the tuning; what is in force stays. A change that all ranks wait for still comes.
        `is_known`: all ranks know why, and rank 0 says it."""
        news, self._news = self._news, None
        if news is not None and why is None:
            news.ended()
        if why is not None:
            self._why = str(why)
            log.log(logging.INFO if is_known and not self._is_first else logging.WARNING,
                    "hocket: %s: tuned no longer: %s", self.name, why)
        if self._restore:
            self._restore()
        self._ballots = self._restore = None
        # A thread may still be sending a trace to rank 0, which saves it through its client.
        if self._recorder is None or self._recorder.close(longest_wait_s):
            self._close_client()

    def _close_client(self):
        client, self._client, self._recorder = self._client, None, None
        if client is None:
            return
        try:
            client.close()
        except Exception as error:
            self.warn(error)

    def close(self):
        """Ends the tuning and reports it; what is in force stays. May be called again."""
        if os.getpid() != self._pid:
            return
        try:
            if self._ballots is not None:
                self._why = "closed"
                self._ballots.finish(LONGEST_CLOSE_S)
            self._end(None, LONGEST_CLOSE_S)
        except Exception as error:
            self.warn(error)
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._pending = [], None
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)

    def _state(self):
        if not self.is_tuning:
            return f"not tuned: {self._why}"
        standing, why = self._client.daemon() if self._is_first else (Standing.KNOWS, "")
        if standing == Standing.AWAY:
            return f"not tuned until the daemon takes the job: {why}"
        return ("tuned while it trains" if standing == Standing.KNOWS
                else "tuned while it trains once the daemon has answered")

    def status(self):
        """Returns lines for people: what is in force, where it is from, and whether it changes."""
        knobs = {knob.name: knob for knob in self._subject.knobs} if self._subject else {}
        lines = [f"{self.name}: {self._state()}"]
        for name, value in self._values.items():
            knob = knobs[name]
            default = "" if value == knob.usual else f" (by default {shown(knob, knob.usual)})"
            lines.append(f"  {name} {shown(knob, value)}{default}")
        if self._source:
            lines.append(f"  at first from: {self._source}")
        return "\n".join(lines)
