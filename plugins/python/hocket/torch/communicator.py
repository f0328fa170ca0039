"""All-reduces the parts of buckets in the order of a hocket.Schedule, on a thread of its own."""

import itertools
import json
import queue
import threading

import torch

from hocket.library import Error
from hocket.schedule import Schedule
from hocket.torch.peers import start_all_reduce, start_broadcast

RECORDED_STEPS = 6
JOIN_S = 5


class Groups:
    """Groups of the communication among Peers, made by all ranks at the same time."""

    def __init__(self, peers):
        self._peers = peers
        self.rank, self.world_size = peers.rank, peers.world_size
        self.control = peers.new_group()    # ballots, and the step of a static order
        self.broadcast = peers.new_group()  # lent to the schedule
        self.channels = []

    def provide(self, channels):
        """Two parts of a group can be in flight: it has two threads."""
        while 2 * len(self.channels) < channels:
            self.channels.append(self._peers.new_group())


class Communicator:
    """One layout of buckets. `buffers` are flat tensors, in the order in which they become ready;
    `priorities` has 0 for the one that is used first. Errors are hocket.Error.

    All functions but those of other threads are called by one thread at a time.
    """

    def __init__(self, groups, config, buffers, priorities):
        self._groups, self._config = groups, config
        self._buffers = [buffer.data for buffer in buffers]  # changes do not count as the program's
        self._error = None
        self._steps = 0
        self._issued = queue.SimpleQueue()  # parts in flight, with their work; None: the end
        self._schedule = Schedule(
            groups.rank, groups.world_size, config=config, broadcast=self._broadcast,
            broadcast_timeout_s=1800)
        try:
            for number, (buffer, priority) in enumerate(zip(buffers, priorities)):
                self._schedule.add(f"bucket{number}", buffer.numel() * buffer.element_size(),
                                   priority=priority)
        except Error:
            self._schedule.close()
            raise
        self._record_if_static()
        self._threads = [threading.Thread(target=call, daemon=True, name="hocket")
                         for call in (self._communicate, self._await_parts)]
        for thread in self._threads:
            thread.start()

    def _communicate(self):
        """Starts parts in the order in which all ranks do; next() waits while enough are in flight.
        Groups take turns, since two parts of a group are in flight at most."""
        try:
            for count in itertools.count():
                part = self._schedule.next()
                if part is None:
                    break
                buffer = self._buffers[part.tensor]
                size = buffer.element_size()
                first = part.offset_bytes // size
                work = start_all_reduce(
                    self._groups.channels[count % len(self._groups.channels)],
                    buffer[first:first + part.bytes // size])
                self._issued.put((part, work))
        except Error:
            pass  # of another thread; who waits gets it too
        except BaseException as error:
            self._fail(error)

    def _await_parts(self):
        """Waits for parts in the order in which they were started. It has a thread, which close()
        joins: a callback on a thread of the process group could need the interpreter while that
        ends, which would abort the program."""
        while (issued := self._issued.get()) is not None:
            part, work = issued
            try:
                work.wait()
                self._schedule.notify_finish(part)
            except BaseException as error:
                self._fail(error)
            issued = work = None  # freed here, not while the interpreter ends

    def _broadcast(self, memory):
        try:
            tensor = torch.frombuffer(memory, dtype=torch.uint8)
            start_broadcast(self._groups.broadcast, tensor).wait()
        except BaseException as error:
            self._fail(error)
            raise Error(str(error)) from error

    def _fail(self, error):
        self._error = self._error or error
        try:
            self._schedule.fail(str(error))
        except Error:
            pass

    def begin_step(self):
        """Announces all buckets of a step, when nothing is unfinished."""
        self._steps += 1
        if self._steps == self._follow_at:
            self._follow()
        for number in range(len(self._buffers)):
            self._call("enqueue", number)

    def notify_ready(self, number):
        self._call("notify_ready", number)

    def end_step(self):
        self._call("end_step")

    def wait(self, number):
        """Waits until the bucket is summed; raises what the all-reduce raised."""
        self._call("wait", number)

    def _call(self, name, *arguments):
        try:
            getattr(self._schedule, name)(*arguments)
        except Error as error:
            raise RuntimeError(str(self._error or error)) from self._error

    def reconfigure(self, config):
        """On all ranks between the same two steps, with nothing unfinished."""
        self._schedule.reconfigure(config)
        self._config = config
        self._record_if_static()

    def _record_if_static(self):
        """The order of static is that of a recorded step; negotiated until it is known."""
        self._follow_at = None
        if json.loads(as_text(self._config)).get("order") == "static":
            self._follow_at = self._steps + RECORDED_STEPS + 2
            self._schedule.record(RECORDED_STEPS)

    def _follow(self):
        """Sends rank 0's recorded step to all ranks, and follows its order."""
        text = b""
        if self._groups.rank == 0:
            try:
                text = json.dumps(self._schedule.recorded_step()).encode()
            except Error:  # no whole step: the order stays negotiated
                pass
        size = torch.tensor([len(text)])
        start_broadcast(self._groups.control, size).wait()
        if size.item() == 0:
            return
        memory = torch.frombuffer(bytearray(text or bytes(size.item())), dtype=torch.uint8)
        start_broadcast(self._groups.control, memory).wait()
        self._schedule.reconfigure(self._config, bytes(memory.numpy().tobytes()))

    def record(self, steps):
        self._schedule.record(steps)

    def save_profile(self, client):
        self._schedule.recorded_step()
        self._schedule.save_profile(client)

    def close(self, clean=True):
        """`clean`: nothing is unfinished, and all ranks close. Else other ranks get an error."""
        try:
            if clean and self._error is None:
                self._schedule.stop()
            else:
                self._schedule.fail("the program ends")
        except Error:
            pass
        communicating, waiting = self._threads
        communicating.join(JOIN_S)
        self._issued.put(None)
        waiting.join(JOIN_S)
        # An all-reduce that hangs would use the schedule later: it is left to the process.
        if not communicating.is_alive() and not waiting.is_alive():
            self._schedule.close()


def as_text(config):
    if isinstance(config, bytes):
        return config.decode()
    return config if isinstance(config, str) else json.dumps(config or {
        "format": "hocket-schedule", "version": 1})


def channels(config):
    return json.loads(as_text(config)).get("comm_channels", 1)
