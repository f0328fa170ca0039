"""Settings of PyTorch that hold before a model is wrapped or compiled, which no running job can
change: `hocket tune --knobs torch` searches them, and `hocket with` gives later jobs the best.

Each is a variable of the environment (formats/knobs/torch.json has the values that are tried). One
that is not set leaves the program's own. What cannot be applied is refused: a trial ends, so that it
is not measured with another setting than it names; any other job says so in a line and trains with
its own settings. Imports nothing of PyTorch.

In a trial rank 0 also prints the time of each iteration, which is what `hocket tune --knobs torch`
minimises: the wall time of a program contains its compilation.
"""

import functools
import inspect
import os
import re
import sys
import time
import weakref

BUCKET_CAP = "HOCKET_TORCH_BUCKET_CAP_MB"
OPTIMIZE_DDP = "HOCKET_TORCH_OPTIMIZE_DDP"
REORDER = "HOCKET_TORCH_REORDER_OVERLAP"
COLLECTIVES = "HOCKET_TORCH_BUCKET_COLLECTIVES_MB"
_MOST_MB = 1024
_NOTHING = '{"format":"hocket-schedule","version":1}'


class BucketSize:
    """A size in MiB for each bucket, which Inductor can keep in the keys of its cache."""

    def __init__(self, size):
        self.size = size

    def __call__(self, _):
        return self.size


def _collectives(value):
    size = BucketSize(value)
    return {"bucket_all_gathers_fx": "all", "bucket_reduce_scatters_fx": "all",
            "bucket_all_gathers_fx_bucket_size_determinator": size,
            "bucket_reduce_scatters_fx_bucket_size_determinator": size}


def _words(text):
    return {"on": True, "off": False}.get(text)


def _size(text):
    return int(text) if re.fullmatch(r"[1-9]\d{0,3}", text) and int(text) <= _MOST_MB else None


_READ = {BUCKET_CAP: (_size, f"a whole number of MiB from 1 to {_MOST_MB}"),
         OPTIMIZE_DDP: (_words, "on or off"),
         REORDER: (_words, "on or off"),
         COLLECTIVES: (_size, f"a whole number of MiB from 1 to {_MOST_MB}")}
# Modules with a configuration, and what a knob's value changes in it.
_CONFIGS = {"torch._dynamo.config": {OPTIMIZE_DDP: lambda value: {"optimize_ddp": value}},
            "torch._inductor.config": {
                REORDER: lambda value: {"reorder_for_compute_comm_overlap": value},
                COLLECTIVES: _collectives}}

_applied = {}  # by the names of knobs: what can be compared with the configuration, or None
_refused = set()
_said = []


class _Iterations:
    """The optimizer whose steps are the iterations: the first that steps, until another one makes two
    steps without it, as one does that takes its place."""

    def __init__(self):
        self.optimizer = self.other = None  # weak references
        self.ended_ns = 0


_iterations = _Iterations()


def named():
    """Returns the names of the knobs that the environment sets."""
    return [name for name in _READ if name in os.environ]


def _refuse(name, why):
    """Ends a trial. In any other job it says once that the knob is not applied."""
    if name in _refused:
        return
    _refused.add(name)
    line = f"hocket: {name}={os.environ[name]!r} is not applied: {why}"
    if os.environ.get("HOCKET_TRIAL"):
        raise SystemExit(line)
    _say(line)


def _say(line):
    if not os.environ.get("HOCKET_TORCH_QUIET"):
        _write(line)


def _write(line):
    try:
        sys.stderr.write(line + "\n")
    except (OSError, ValueError, AttributeError):
        pass  # closed, or not there


def _value(name):
    """Returns the value of a knob that is set and good, else None."""
    if name not in os.environ or name in _refused:
        return None
    read, expected = _READ[name]
    value = read(os.environ[name])
    if value is None:
        _refuse(name, f"expected {expected}")
    return value


def begin():
    """Checks all values as Python starts. The job's setting is then a study's, which the tuning
    while it trains leaves alone (hocket/torch/opening.py)."""
    for name in named():
        _value(name)
    if set(named()) - _refused:
        os.environ.setdefault("HOCKET_CONFIG", _NOTHING)


def configure(module):
    """Changes a configuration that has just been imported."""
    for name, changes in _CONFIGS[module.__name__].items():
        value = _value(name)
        if value is None:
            continue
        changed = changes(value)
        lacking = [each for each in changed if not hasattr(module, each)]
        if lacking:
            _refuse(name, f"this PyTorch has no {module.__name__}.{lacking[0]}")
            continue
        for each, given in changed.items():
            setattr(module, each, given)
        _applied[name] = (module, changed)


def cap_buckets(kind):
    """Gives DistributedDataParallel the cap where it is set."""
    if BUCKET_CAP not in os.environ:
        return
    inner = kind.__init__
    signature = inspect.signature(inner)

    @functools.wraps(inner)
    def __init__(self, *arguments, **named):
        value = _value(BUCKET_CAP)
        if value is not None:
            bound = signature.bind(self, *arguments, **named)
            if bound.arguments.get("bucket_cap_mb_list"):
                _refuse(BUCKET_CAP, "the program gives each bucket a cap (bucket_cap_mb_list)")
            else:
                bound.arguments["bucket_cap_mb"] = value
                arguments, named = bound.args[1:], bound.kwargs
                _applied[BUCKET_CAP] = None
        inner(self, *arguments, **named)
    kind.__init__ = __init__


def _is_compiled(by_inductor):
    dynamo = sys.modules.get("torch._dynamo.utils")
    return bool(dynamo and dynamo.counters["frames"].get("total")
                and (not by_inductor or "torch._inductor.compile_fx" in sys.modules))


def _why_without_effect(name):
    """Returns why a knob has no effect on what was wrapped and compiled until now, or None."""
    if name not in _applied:
        return ("no model is wrapped by DistributedDataParallel" if name == BUCKET_CAP
                else "nothing is compiled by torch.compile")
    if name == BUCKET_CAP:
        return None
    module, changed = _applied[name]
    for each, given in changed.items():
        if getattr(module, each) != given:
            return f"the program sets {module.__name__}.{each}"
    if not _is_compiled(by_inductor=name != OPTIMIZE_DDP):
        return ("nothing is compiled by torch.compile" if name == OPTIMIZE_DDP
                else "nothing is compiled by Inductor")
    return None


def check():
    """Refuses, after an optimizer's first step, what has not come into effect until then."""
    for name in named():
        why = _why_without_effect(name)
        if why is not None:
            _refuse(name, why)
    held = [f"{name}={os.environ[name]}" for name in named() if name not in _refused]
    if held and not _said and os.environ.get("RANK", "0") == "0":
        _said.append(True)
        _say(f"hocket: {', '.join(held)}: in force; nothing is tuned while the job trains")


def stepped(optimizer):
    """An optimizer has made a step. In a trial, rank 0 prints the time since the one before. The
    device is not waited for: it works off what was queued at the rate at which the program queues
    more."""
    if not os.environ.get("HOCKET_TRIAL") or os.environ.get("RANK", "0") != "0":
        return
    now_ns = time.monotonic_ns()
    last, this = _iterations, weakref.ref(optimizer)
    if last.optimizer == this:
        # formats/knobs/torch.json has the pattern.
        _write(f"hocket: iteration_ms={(now_ns - last.ended_ns) / 1e6:.4f}")
    elif last.optimizer is not None and last.other != this:
        last.other = this
        return
    last.optimizer, last.other, last.ended_ns = this, None, now_ns
