"""What rank 0 says of a model that may change while it trains: that the tuning has begun or why it
has not, every ten minutes how the job does, and more often the same as numbers for a program's own
logger."""

import logging
import os
import time

from hocket.client import Standing
from hocket.torch.voice import log, shown, tell

LINE_EVERY_S = 600.0
NUMBERS_EVERY_S = 10.0
# A job that waits in communication for this share of an iteration gains from tuning it.
COMMUNICATION_BOUND_SHARE = 0.2

_listeners = []


def on_progress(call):
    """Has `call(step, values)` called on rank 0 of each tuned model, at most every ten seconds, at
    the end of an optimizer's step and on its thread. Returns `call`, so that it can decorate one.

    `values` has numbers by name: "hocket/iteration_ms", "hocket/tried", "hocket/kept",
    "hocket/explored_percent", the knobs in force such as "hocket/bucket_cap_bytes" and, where it is
    known, "hocket/exposed_percent" and "hocket/late_rank". `step` counts the steps since the tuning
    began. A call that raises is logged and not made again.

        hocket.torch.on_progress(lambda step, values: wandb.log(values))
    """
    _listeners.append(call)
    return call


def _line_every_s():
    """Returns what HOCKET_TORCH_PROGRESS_S says: seconds between lines, 0 for none."""
    try:
        return max(0.0, float(os.environ.get("HOCKET_TORCH_PROGRESS_S") or LINE_EVERY_S))
    except ValueError:
        return LINE_EVERY_S


def progress_line(progress):
    """Returns "iteration 182.1 ms; communication-bound: 31 % exposed; …"."""
    parts = [f"iteration {progress['iteration_ns'] / 1e6:.1f} ms"]
    exposed = progress.get("exposed_share")
    if exposed is not None:
        is_bound = exposed >= COMMUNICATION_BOUND_SHARE
        parts.append(("communication-bound: " if is_bound else "communication: ")
                     + f"{exposed:.0%} exposed".replace("%", " %"))
    if "late_rank" in progress:
        parts.append(f"rank {progress['late_rank']} is late: the others wait "
                     f"{progress['late_ns'] / 1e6:.1f} ms for it")
    parts.append(f"tried {progress['tried']}, kept {progress['kept']}")
    return "; ".join(parts)


def numbers(progress, values):
    """Returns what on_progress() calls with."""
    found = {"hocket/iteration_ms": progress["iteration_ns"] / 1e6,
             "hocket/tried": progress["tried"], "hocket/kept": progress["kept"],
             "hocket/explored_percent": 100 * progress["explored_share"]}
    if "exposed_share" in progress:
        found["hocket/exposed_percent"] = 100 * progress["exposed_share"]
    if "late_rank" in progress:
        found["hocket/late_rank"] = progress["late_rank"]
    found.update({f"hocket/{name}": value for name, value in values.items()
                  if isinstance(value, (int, float))})
    return found


def settings_text(knobs, values):
    return ", ".join(f"{knob.name} {shown(knob, values[knob.name])}" for knob in knobs)


class News:
    """Of a job that may change while it trains. `settings`: its values at first, for people.
    `search`: what the ended search of its key came to, or ""."""

    def __init__(self, name, settings, is_searched, search="", now=time.monotonic):
        self._name, self._settings, self._now = name, settings, now
        self._what = ("tuned while it trains" if is_searched
                      else "takes what is pushed while it trains and tries nothing")
        self._begins = (f"{search}; it trains with" if search and is_searched
                        else f"{self._what}, beginning with")
        self._standing = Standing.ASKED  # as last told
        self._every_s = _line_every_s()
        self._next_line = self._next_numbers = now()

    def step_ended(self, client, step, values):
        """Says what is new. `values` are those in force, by name."""
        standing, why = client.daemon()
        if standing != self._standing:
            self._tell_standing(standing, why, step)
        now = self._now()
        is_line_due = self._every_s > 0 and now >= self._next_line + self._every_s
        if not is_line_due and not (_listeners and now >= self._next_numbers):
            return
        progress = client.progress()
        if not progress:
            return
        if is_line_due:
            self._next_line = now
            tell(f"hocket: {self._name}: step {step}: {progress_line(progress)}")
        if now >= self._next_numbers:
            self._next_numbers = now + NUMBERS_EVERY_S
            _call_listeners(step, numbers(progress, values))

    def _tell_standing(self, standing, why, step):
        had, self._standing = self._standing, standing
        if standing == Standing.KNOWS and had == Standing.ASKED:
            tell(f"hocket: {self._name}: {self._begins} {self._settings}")
        elif standing == Standing.KNOWS:
            tell(f"hocket: {self._name}: step {step}: the daemon knows the job again; {self._what}")
        elif standing == Standing.AWAY and had == Standing.ASKED:
            tell(f"hocket: {self._name}: not tuned until the daemon takes the job: {why}; it trains "
                 f"with {self._settings}")

    def ended(self):
        """Says of a short job why nothing came of its tuning."""
        if self._standing == Standing.ASKED:
            tell(f"hocket: {self._name}: not tuned: it ended before the daemon had answered")


def _call_listeners(step, values):
    for call in list(_listeners):
        try:
            call(step, dict(values))
        except Exception:
            _listeners.remove(call)
            log.log(logging.WARNING, "hocket: a function given to on_progress() failed and is not "
                    "called again", exc_info=True)
