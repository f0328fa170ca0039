"""The communication schedule of a framework: capi/hocket_schedule.h, which says what each
call promises.

    schedule = hocket.Schedule(rank, world_size, config=…, broadcast=…)
    weights = schedule.add("weights", 4096, priority=0)
    …
    schedule.enqueue(weights)
    schedule.notify_ready(weights)
    schedule.wait(weights)
    schedule.end_step()

and on a thread: `part = schedule.next()`, its all-reduce, `schedule.notify_finish(part)`.
"""

import ctypes
import json
import traceback
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import NamedTuple

from hocket.library import Error, function, raise_error

LONG_S = 86_400


class Part(NamedTuple):
    """A range of a tensor's bytes to communicate now."""

    tensor: int
    offset_bytes: int
    bytes: int
    index: int  # the same on every rank
    channel: int


class _Part(ctypes.Structure):
    _fields_ = [(name, c_int64) for name in Part._fields]


class _Tensor(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("bytes", c_int64), ("priority", c_int64)]


_Broadcast = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p)


class _Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("rank", c_int64), ("world_size", c_int64),
                ("config_json", c_char_p), ("step_json", c_char_p), ("broadcast", _Broadcast),
                ("broadcast_timeout_ns", c_int64), ("context", c_void_p)]


def _text(document):
    """Returns a configuration or step, given as text or as an object, as the library takes it."""
    if document is None or isinstance(document, bytes):
        return document
    return (document if isinstance(document, str) else json.dumps(document)).encode()


def _nanoseconds(seconds):
    return round(min(max(seconds, 0), LONG_S) * 1e9)


class Schedule:
    """Any thread may call any function, except close(), which is the last call.

    `config` and `step` are JSON texts or objects, equal on all ranks. `broadcast(buffer)` is called
    with a writable memoryview of a few hundred bytes, on a thread of the library: it sends rank 0's
    to all other ranks; what it raises fails the schedule, and is printed unless it is a
    hocket.Error. Errors are hocket.Error.
    """

    def __init__(self, rank, world_size, config=None, step=None, broadcast=None,
                 broadcast_timeout_s=30):
        self._handle = None
        # Kept, since the library calls it.
        self._broadcast = _Broadcast(self._lend(broadcast)) if broadcast else _Broadcast()
        options = _Options(size=ctypes.sizeof(_Options), rank=rank, world_size=world_size,
                           config_json=_text(config), step_json=_text(step),
                           broadcast=self._broadcast,
                           broadcast_timeout_ns=_nanoseconds(broadcast_timeout_s))
        self._handle = function("hocket_schedule_open", c_void_p, POINTER(_Options))(options)
        if not self._handle:
            raise_error()

    @staticmethod
    def _lend(broadcast):
        def call(address, size, _):
            try:
                broadcast(memoryview((ctypes.c_char * size).from_address(address)).cast("B"))
                return 0
            except Error:
                return 1
            except BaseException:  # no exception crosses the interface
                traceback.print_exc()
                return 1
        return call

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _call(self, name, *arguments, types=()):
        result = function(f"hocket_schedule_{name}", c_int, c_void_p, *types)(self._handle,
                                                                               *arguments)
        if result < 0:
            raise_error()
        return result

    def add(self, name, size_bytes, priority=0):
        """Adds a tensor, or a bucket of tensors; returns its number."""
        tensor = _Tensor(size=ctypes.sizeof(_Tensor), name=name.encode(), bytes=size_bytes,
                         priority=priority)
        number = function("hocket_schedule_add", c_int64, c_void_p, POINTER(_Tensor))(
            self._handle, tensor)
        if number < 0:
            raise_error()
        return number

    def enqueue(self, tensor):
        self._call("enqueue", tensor, types=(c_int64,))

    def notify_ready(self, tensor):
        self._call("notify_ready", tensor, types=(c_int64,))

    def next(self, timeout_s=LONG_S):
        """Returns the next Part; None when there is none within the time, or after stop()."""
        part = _Part()
        taken = self._call("next", part, _nanoseconds(timeout_s), types=(POINTER(_Part), c_int64))
        return Part(*(getattr(part, name) for name in Part._fields)) if taken == 1 else None

    def notify_finish(self, part):
        self._call("notify_finish", part.index, types=(c_int64,))

    def wait(self, tensor, timeout_s=LONG_S):
        """Waits until the tensor's last communication is done."""
        self._call("wait", tensor, _nanoseconds(timeout_s), types=(c_int64, c_int64))

    def end_step(self):
        self._call("end_step")

    def reconfigure(self, config, step=None):
        self._call("reconfigure", _text(config), _text(step), types=(c_char_p, c_char_p))

    def fail(self, message):
        """Ends every call that waits, on this rank, with this error."""
        self._call("fail", message.encode(), types=(c_char_p,))

    def stop(self):
        """Ends the communication once all tensors are waited for: next() gives None."""
        self._call("stop")

    def record(self, steps):
        self._call("record", steps, types=(c_int64,))

    def recorded_step(self):
        """Ends the recording; returns the step as an object (docs/formats/step.md)."""
        text = function("hocket_schedule_recorded_step", c_char_p, c_void_p)(self._handle)
        if text is None:
            raise_error()
        return json.loads(text)

    def save_profile(self, client):
        """Saves the last recording, whose step recorded_step() has returned, as a profile of the
        job of a hocket.Client. For rank 0."""
        self._call("save_profile", client._handle, types=(c_void_p,))

    def close(self):
        """May be called again."""
        if self._handle:
            function("hocket_schedule_close", None, c_void_p)(self._handle)
        self._handle = None
