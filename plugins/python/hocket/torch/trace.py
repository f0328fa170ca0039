"""Traces of the steps that `hocket profile JOB` asks for, recorded by torch.profiler on every rank.

    recorder = TraceRecorder(rank, world_size, group, config=…, save=…, warn=…)
    recorder.request(first_step, steps)                 from within on_profile (hocket_client.h)
    recorder.iteration_begins(step, iteration)          before every iteration
    recorder.close()                                    before the client and the group are

A step of the client may be several iterations; of as many steps, as many iterations are recorded.
An iteration begins before the ballot of the step that has ended is issued: else it is by chance to
which iteration the ballot's all-reduce belongs, and iterations seem to differ.

Every rank makes the same calls at the same iterations. Nothing raises, and nothing waits for
another rank, except that close() waits for a transfer under way. What fails leaves its rank without
a trace. A program that uses PyTorch's profiler itself keeps it.
"""

import functools
import gzip
import os
import queue
import shutil
import tempfile
import threading
import zlib

import torch
from torch.profiler import ProfilerActivity, profile, record_function

MOST_ITERATIONS = 100
MOST_BYTES = 1 << 30  # of a rank's trace as text
MOST_SENT_BYTES = MOST_BYTES >> 3  # compressed
# Messages of one sender with one tag arrive in order, and apart from the group's collectives.
TAG = 0x686F
USED = "the program uses PyTorch's profiler itself"


class _Window:
    """The iterations of one request."""

    def __init__(self, first_step, steps):
        self.first_step = first_step
        self.left = min(steps, MOST_ITERATIONS)  # iterations that have not begun
        self.has_begun = False
        self.config = ""  # in its first iteration
        self.profiler = None  # prepared
        self.is_recording = self.has_failed = False
        self.take_back = None  # what undoes _give_way()
        self.mark = None  # the annotation of the present iteration
        self.recorded = None  # a profiler that has ended


class TraceRecorder:
    """Called on the thread that trains.

    `group` is a process group of gloo with all ranks, of which this uses messages with a tag of its
    own, on a thread. `config()` returns the configuration of the next step as JSON. On rank 0,
    `save(files, config)` makes the profile; it is called on that thread, and what it raises becomes
    a warning: `warn(text)` may be called on both threads.
    """

    def __init__(self, rank, world_size, group, config, save, warn):
        self._rank, self._world_size, self._group = rank, world_size, group
        self._config, self._save, self._warn = config, save, warn
        self._windows = []  # those that have not ended
        self._recorded = queue.SimpleQueue()  # windows to send; None ends the thread
        self._thread = None

    def request(self, first_step, steps):
        if steps > MOST_ITERATIONS:
            self._warn_of(f"of {steps} iterations the first {MOST_ITERATIONS} are recorded")
        self._windows.append(_Window(first_step, steps))

    def iteration_begins(self, step, iteration):
        if not self._windows:
            return
        window = self._windows[0]
        if step < window.first_step:
            if step == window.first_step - 1:
                self._attempt(self._prepare, window)
            return
        if step == window.first_step and not window.has_begun:
            window.has_begun = True
            self._attempt(self._start, window)
        if window.has_begun and window.left > 0:
            window.left -= 1
            self._attempt(self._mark, window, iteration)
            return
        self._attempt(self._stop, window)
        self._windows.pop(0)
        self._send(window)

    def close(self, timeout_s=30):
        """Gives up a recording under way, and waits for the transfer of the last one. Returns
        False if that has not ended: the group and what `save` uses must then be kept."""
        if self._windows:
            self._attempt(self._stop, self._windows[0])
            self._windows.clear()
        if self._thread is None:
            return True
        self._recorded.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # Recording, on the thread that trains.

    def _prepare(self, window):
        """Begins before the first iteration what takes long, such as opening CUPTI."""
        if window.profiler is not None or window.has_failed:
            return
        _check_unused()
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        profiler = profile(activities=activities, record_shapes=True)
        profiler.prepare_trace()
        window.profiler = profiler

    def _start(self, window):
        self._prepare(window)
        if window.has_failed:
            return
        window.config = self._config()
        _check_unused()
        window.profiler.start_trace()
        window.is_recording = True
        self._give_way(window)

    def _give_way(self, window):
        """Lets a program that starts PyTorch's profiler have it, of which there can be only one."""
        kind, thread = torch.autograd.profiler.profile, threading.get_ident()
        prepare = getattr(kind, "_prepare_trace", None)
        if prepare is None:
            return

        def take(profiler):
            if window.is_recording and threading.get_ident() == thread:
                self._give_up(window, USED)
            return prepare(profiler)

        kind._prepare_trace = take
        window.take_back = functools.partial(setattr, kind, "_prepare_trace", prepare)

    def _mark(self, window, iteration):
        self._end_mark(window)
        if window.is_recording:
            window.mark = record_function(f"ProfilerStep#{iteration}")
            window.mark.__enter__()

    def _stop(self, window):
        if window.take_back:
            window.take_back()
        self._end_mark(window)
        if window.is_recording:
            window.is_recording = False
            window.profiler.stop_trace()
            window.recorded = window.profiler

    @staticmethod
    def _end_mark(window):
        if window.mark is not None:
            mark, window.mark = window.mark, None
            mark.__exit__(None, None, None)

    def _attempt(self, action, window, *arguments):
        try:
            action(window, *arguments)
        except Exception as error:
            self._give_up(window, error)

    def _give_up(self, window, why):
        """Goes on without a trace. In the end rank 0 is told that there is none."""
        self._warn_of(why)
        if window.is_recording:
            self._attempt(self._stop, window)
        window.recorded, window.has_failed = None, True

    def _warn_of(self, error):
        self._warn(f"profile on rank {self._rank}: {error}")

    # Sending and saving, on a thread of its own.

    def _send(self, window):
        self._recorded.put(window)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="hocket-traces", daemon=True)
            self._thread.start()

    def _work(self):
        while (window := self._recorded.get()) is not None:
            try:
                with tempfile.TemporaryDirectory(prefix="hocket-trace-") as folder:
                    self._transfer(window, folder)
            except Exception as error:
                self._warn_of(error)

    def _transfer(self, window, folder):
        own = self._export(window, folder)
        if self._rank > 0:
            self._send_bytes(self._compressed(own))
            return
        files = [own]
        for rank in range(1, self._world_size):
            files.append(self._receive(rank, os.path.join(folder, f"rank-{rank}.json")))
        if any(files):
            self._save(files, window.config)
        else:
            self._warn_of("no rank has a trace")

    def _export(self, window, folder):
        """Returns the file of this rank's trace, or None."""
        if window.recorded is None:
            return None
        path = os.path.join(folder, f"rank-{self._rank}.json")
        try:
            window.recorded.export_chrome_trace(path)
            size = os.path.getsize(path)
            if size > MOST_BYTES:
                raise RuntimeError(f"the trace has {size} bytes, too many to send")
            return path
        except Exception as error:
            self._warn_of(error)
            return None
        finally:
            window.recorded = None

    def _compressed(self, path):
        """Returns the bytes of a file; none for no file, or if they are too many."""
        if path is None:
            return b""
        try:
            with open(path, "rb") as text, gzip.open(path + ".gz", "wb", compresslevel=1) as packed:
                shutil.copyfileobj(text, packed, 1 << 20)
            with open(path + ".gz", "rb") as packed:
                data = packed.read(MOST_SENT_BYTES + 1)
            if len(data) > MOST_SENT_BYTES:
                raise RuntimeError("the trace is too large to be sent")
            return data
        except Exception as error:
            self._warn_of(error)
            return b""

    def _send_bytes(self, data):
        self._group.send([torch.tensor([len(data)], dtype=torch.int64)], 0, TAG).wait()
        if data:
            block = torch.frombuffer(bytearray(data), dtype=torch.uint8)
            self._group.send([block], 0, TAG).wait()

    def _receive(self, rank, path):
        """Writes a rank's trace to `path`, which it returns; None if the rank has none."""
        try:
            size = torch.zeros(1, dtype=torch.int64)
            self._group.recv([size], rank, TAG).wait()
            if not 0 < int(size) <= MOST_SENT_BYTES:
                return None
            data = bytearray(int(size))
            self._group.recv([torch.frombuffer(data, dtype=torch.uint8)], rank, TAG).wait()
            _unpack(data, path)
            return path
        except Exception as error:
            self._warn_of(f"rank {rank}: {error}")
            return None


def _check_unused():
    if torch.autograd._profiler_enabled():
        raise RuntimeError(USED)


def _unpack(data, path):
    """Writes what gzip compressed, at most MOST_BYTES of it."""
    left, unpack = MOST_BYTES, zlib.decompressobj(wbits=31)
    with open(path, "wb") as text:
        while data and left > 0:
            part = unpack.decompress(data, min(left, 1 << 20))
            left -= text.write(part)
            data = unpack.unconsumed_tail
    if data:
        raise ValueError(f"a trace has more than {MOST_BYTES} bytes, too many to send")
