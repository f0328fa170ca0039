"""Where a training loop's steps begin and end, and what they take."""

import collections
import functools
import time
import types
import weakref

import torch

# The first iterations allocate, and DistributedDataParallel rebuilds its buckets in the second.
WARM_UP_STEPS = 5


def after_each_step(optimizer, call):
    """Calls `call()` at the end of each optimizer.step(); returns a function that ends this.

    The instance's method is replaced by a method, not by a function, since learning-rate
    schedulers wrap it as one: made before, theirs is called from here, and made later, it calls
    this one.
    """
    inner = optimizer.step
    calls = [call]

    @functools.wraps(inner)
    def step(_, *arguments, **named):
        result = inner(*arguments, **named)
        for each in calls:
            each()
        return result

    optimizer.step = types.MethodType(step, optimizer)
    return calls.clear


class Watch:
    """A module's hook that calls a method of `owner`, which it does not keep alive.

    A copy of the module, or one read from a file, has a hook that does nothing: a model can be
    copied and saved whole as without hocket.
    """

    def __init__(self, owner=None, name=""):
        self._owner, self._name = weakref.ref(owner) if owner else _nobody, name

    def __call__(self, *_):
        owner = self._owner()
        if owner is None:
            return
        if _is_compiling():
            owner.is_compiled = True  # the only thing that becomes a part of the compiled code
        else:
            getattr(owner, self._name)()

    def __reduce__(self):
        return (Watch, ())


# Before 2.3 there is torch.compile without it; the model is then taken not to be compiled.
_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)


def _nobody():
    return None


class StepTimes:
    """Times between the ends of rounds of one or more steps, in order, as soon as they are known.

    With a CUDA device they are those of events on its current stream, read when they are done:
    nothing waits for the device. A round in which something else happened, such as an evaluation,
    is left out, as are the first ones.
    """

    def __init__(self, on_cuda=False, new_event=None, now=time.perf_counter):
        self._event = new_event or functools.partial(torch.cuda.Event, enable_timing=True)
        self._on_cuda, self._now = on_cuda, now
        # Tuples (round, steps, end); steps is 0 in a round that is not measured. The first entry
        # was reported, and is kept as the start of the next.
        self._ends = collections.deque()
        self.interrupted = False

    def ended(self, number, steps=1):
        """Ends round `number` of so many steps; returns pairs of a round and the seconds that each
        of its steps took, of those that are known now."""
        counts = number >= WARM_UP_STEPS and not self.interrupted
        self.interrupted = False
        end = self._event() if self._on_cuda else self._now()
        if self._on_cuda:
            end.record()
        self._ends.append((number, steps if counts else 0, end))
        return list(self._known())

    def _known(self):
        while len(self._ends) > 1 and (not self._on_cuda or self._ends[1][2].query()):
            start = self._ends.popleft()[2]
            number, steps, end = self._ends[0]
            if steps > 0:
                yield number, self._seconds(start, end) / steps

    def _seconds(self, start, end):
        return start.elapsed_time(end) / 1e3 if self._on_cuda else end - start
