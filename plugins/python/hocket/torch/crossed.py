"""DistributedDataParallel whose communication crosses the barrier between two iterations: its
buckets, the schedule of their parts, and whether they cross at all, as knobs.
"""

import dataclasses
import json

from hocket.client import Knob
from hocket.torch import buckets as ddp_buckets
from hocket.torch.crossing import Crossing
from hocket.torch.subject import Subject

CROSSING = "crossing"
SCHEDULE = ("partition_bytes", "credit_bytes")
# Not searched: fewer knobs are tuned sooner. order=static is learned anew after each change, so no
# candidate would be measured with it.
FIXED = {"comm_channels": 2, "order": "negotiated"}
# A bucket waits for all its gradients, so those of DDP's own cap would start too late.
BUCKET_BYTES = 1 << 20

# Urgent parts overtake only where others wait: the window has room for two parts.
KNOBS = (
    Knob(CROSSING, choices=("off", "on"), usual="on", running=True),
    Knob("partition_bytes", low=128 << 10, high=16 << 20, usual=512 << 10, log=True, unit="B",
         running=True),
    Knob("credit_bytes", low=128 << 10, high=64 << 20, usual=1 << 20, log=True, unit="B",
         running=True),
)


def _schedule_of(values):
    """Returns the schedule's configuration, of which the values are a part."""
    return json.dumps({"format": "hocket-schedule", "version": 1, **FIXED,
                       **{name: values[name] for name in SCHEDULE}})


def _with_small_buckets(knob):
    if knob.name != ddp_buckets.KNOB:
        return knob
    return dataclasses.replace(knob, usual=min(knob.usual, max(knob.low, BUCKET_BYTES)))


class Crossed(Subject):
    """The knobs of a model's buckets and of crossing. All ranks make it at the same place."""

    def __init__(self, buckets, optimizer, peers):
        self._buckets = buckets
        self._now = {knob.name: knob.usual for knob in KNOBS}
        self._crossing = Crossing(buckets.module, optimizer, _schedule_of(self._now), peers)
        self.knobs = buckets.knobs
        self.may_lessen = self._crossing.off_reason is None
        if self.may_lessen:
            buckets.own_hook = self._crossing.comm_hook
            self.knobs = tuple(map(_with_small_buckets, buckets.knobs)) + KNOBS

    @property
    def module(self):
        return self._buckets.module

    @property
    def why_fixed(self):
        return self._buckets.why_fixed

    @property
    def hook_options(self):
        return self._buckets.hook_options

    def ended(self):
        return self._buckets.ended()

    def rest(self):
        """Returns the buckets alone, once crossing has ended by itself."""
        if not self.may_lessen or self._crossing.off_reason is None:
            return None
        self._buckets.own_hook = ()
        return self._buckets

    def is_in_force(self):
        """After a change of the buckets they are learned before anything crosses."""
        return (self._crossing.off_reason is not None or self._now[CROSSING] == "off"
                or self._crossing.is_crossing)

    def accept(self, values):
        """Returns why this rank cannot run with the values now; None if it can."""
        return self._buckets.accept(values)

    def apply(self, values):
        """Changes buckets, schedule and crossing between two iterations, on all ranks."""
        if self._crossing.off_reason is None:
            self._crossing.flush()
        self._buckets.apply(values)
        if self._crossing.off_reason is not None or CROSSING not in values:
            return
        now = {name: values[name] for name in self._now}
        if _schedule_of(now) != _schedule_of(self._now):
            self._crossing.apply(_schedule_of(now))
        if now[CROSSING] != self._now[CROSSING]:
            (self._crossing.enable if now[CROSSING] == "on" else self._crossing.disable)()
        self._now = now

    def undo(self):
        """Ends the crossing, and gives the model PyTorch's own buckets back."""
        self._crossing.close()
        self._buckets.undo()
