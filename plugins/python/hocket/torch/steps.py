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
        if owner is not None:
            getattr(owner, self._name)()

    def __reduce__(self):
        return (Watch, ())


def _nobody():
    return None


class StepTimes:
    """Times between the ends of steps, in order, as soon as they are known.

    With a CUDA device they are those of events on its current stream, read when they are done:
    nothing waits for the device. An iteration in which something else happened, such as an
    evaluation, is left out, as are the first ones.
    """

    def __init__(self, on_cuda=False, new_event=None, now=time.perf_counter):
        self._event = new_event or functools.partial(torch.cuda.Event, enable_timing=True)
        self._on_cuda, self._now = on_cuda, now
        self._ends = collections.deque()  # of (step, end, whether it counts), the first one passed
        self.interrupted = False

    def ended(self, step):
        """Returns pairs of a step and its time in seconds that are known now."""
        counts = step >= WARM_UP_STEPS and not self.interrupted
        self.interrupted = False
        if not self._on_cuda:
            end = self._now()
            before, self._ends = self._ends, collections.deque([(step, end, counts)])
            return [(step, end - before[0][1])] if counts and before else []
        end = self._event()
        end.record()
        self._ends.append((step, end, counts))
        return list(self._read_events())

    def _read_events(self):
        while len(self._ends) > 1 and self._ends[1][1].query():
            _, start, _ = self._ends.popleft()
            step, end, counts = self._ends[0]
            if counts:
                yield step, start.elapsed_time(end) / 1e3
