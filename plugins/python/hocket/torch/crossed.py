"""The knobs of a model whose communication crosses the barrier between two iterations."""

from hocket.client import Knob
from hocket.torch.crossing import Crossing
from hocket.torch.subject import LeftAlone

CROSSING = "crossing"
_ORDERS = ("fifo", "static", "negotiated")  # as hocket_client.h numbers them
_RUNNING = ("partition_bytes", "credit_bytes")
_START = {"partition_bytes": {}, "credit_bytes": {}, "order": ["fifo", "negotiated"],
          "comm_channels": {"low": 1, "high": 4}}


class CrossedBuckets:
    """DDP's buckets, whether they cross, and the schedule by which they do.

    All ranks make it at the same place. Raises LeftAlone, on all ranks, where crossing is wrong.
    """

    def __init__(self, buckets, optimizer):
        self._buckets = buckets
        self._crossing = Crossing(buckets.module, optimizer)
        if self._crossing.off_reason is not None:
            raise LeftAlone(f"crossing: {self._crossing.off_reason}")
        buckets.own_hook = self._crossing.comm_hook
        self.hook_options = buckets.hook_options
        self.knobs = (*buckets.knobs, Knob(CROSSING, choices=("off", "on"), usual="on",
                                           running=buckets.is_running))
        self.scheduler_knobs = tuple(_START)
        self.running_scheduler_knobs = _RUNNING if buckets.is_running else ()
        self.can_run = {"start": _START}

    @property
    def module(self):
        return self._buckets.module

    def ended(self):
        return self._buckets.ended()

    def accept(self, values):
        if values[CROSSING] == "on" and self._crossing.off_reason is not None:
            return f"crossing: {self._crossing.off_reason}"
        return self._buckets.accept(values)

    def apply(self, values):
        crossing = self._crossing
        config = {"format": "hocket-schedule", "version": 1} | {
            name: values[name] for name in self.scheduler_knobs if name in values}
        if "order" in config:
            config["order"] = _ORDERS[config["order"]]
        # What is pending belongs to the old buckets.
        crossing.disable()
        self._buckets.apply(values)
        crossing.apply(config)
        if values[CROSSING] == "on":
            crossing.enable()

    def undo(self):
        self._crossing.close()
        self._buckets.undo()
