"""hocket's client: capi/hocket_client.h, which says what each call promises.

    cap = hocket.Knob("cap_bytes", low=1 << 18, high=1 << 28, usual=25 << 20, log=True, unit="B")
    client = hocket.Client("my-model", tensors=[("weights", 4096)], own_knobs=[cap])
    client.get("job.cap_bytes")
    client.report([iteration_s, …])
    client.close()

A program that changes configurations while it trains calls fill(), read(), iteration() and
step_ended() in every step, in the order that the header gives.
"""

import ctypes
import enum
import json
import logging
import os
import weakref
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass

from hocket.library import function, raise_error

_log = logging.getLogger("hocket")


@dataclass(frozen=True)
class Knob:
    """A knob of the program's own: an integer from `low` to `high`, or a choice among words.

    `usual` is the default, of a choice its word. With `log`, the powers of two times `low` are
    searched. `running`: the program can change it while it trains.
    """

    name: str
    low: int = 0
    high: int = 0
    usual: int | str = 0
    log: bool = False
    unit: str | None = None
    choices: tuple[str, ...] = ()
    running: bool = False


class Standing(enum.IntEnum):
    """The daemon's part in a job: HOCKET_DAEMON_… of the header."""

    NONE = 0
    ASKED = 1
    AWAY = 2
    KNOWS = 3


class _Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("bytes", c_int64)]


class _Knob(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("unit", c_char_p), ("low", c_int64),
                ("high", c_int64), ("log", c_int), ("choices", POINTER(c_char_p)),
                ("choice_count", c_size_t), ("default_value", c_int64), ("running", c_int)]


_Text = ctypes.CFUNCTYPE(None, c_char_p, c_void_p)
_Profile = ctypes.CFUNCTYPE(None, c_int64, c_int64, c_void_p)
# The reason is written through its address.
_Accept = ctypes.CFUNCTYPE(c_int, c_char_p, c_void_p, c_size_t, c_void_p)


class _Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("topology_json", c_char_p), ("world_size", c_int64),
                ("link", c_char_p), ("workload_name", c_char_p), ("tensors", POINTER(_Tensor)),
                ("tensor_count", c_size_t), ("warn", _Text), ("knobs", POINTER(c_char_p)),
                ("knob_count", c_size_t), ("explore", c_double), ("say", _Text),
                ("context", c_void_p), ("rank", c_int64), ("config_json", c_char_p),
                ("on_profile", _Profile), ("can_run", c_char_p),
                ("own_knobs", POINTER(POINTER(_Knob))), ("own_knob_count", c_size_t),
                ("accept", _Accept), ("decides_alone", c_int), ("may_try", c_void_p),
                ("predictions", c_char_p), ("traits", c_char_p)]


def _bytes(text):
    """Returns a text, or an object as JSON, as the library takes it."""
    if text is None or isinstance(text, bytes):
        return text
    return (text if isinstance(text, str) else json.dumps(text)).encode()


def _texts(words):
    return (c_char_p * len(words))(*(word.encode() for word in words))


def _knob(knob):
    words = knob.choices
    return _Knob(size=ctypes.sizeof(_Knob), name=knob.name.encode(), unit=_bytes(knob.unit),
                 low=knob.low, high=knob.high, log=knob.log,
                 choices=_texts(words) if words else None, choice_count=len(words),
                 default_value=words.index(knob.usual) if words else knob.usual,
                 running=knob.running)


def _text_callback(call):
    if call is None:
        return _Text()

    def guarded(text, _):
        try:
            call(text.decode(errors="replace"))
        except BaseException:  # no exception crosses the interface
            _log.exception("hocket: a callback failed")
    return _Text(guarded)


def _profile_callback(call):
    if call is None:
        return _Profile()

    def guarded(first_step, steps, _):
        try:
            call(first_step, steps)
        except BaseException:
            _log.exception("hocket: a callback failed")
    return _Profile(guarded)


def _accept_callback(call):
    if call is None:
        return _Accept()

    def guarded(config, reason, reason_bytes, _):
        try:
            why = call(json.loads(config))
        except BaseException as error:  # what cannot be judged is refused
            why = f"{type(error).__name__}: {error}"
        if why is None:
            return 0
        text = why.encode()[:max(reason_bytes - 1, 0)] + b"\0"
        ctypes.memmove(reason, text, min(len(text), reason_bytes))
        return 1
    return _Accept(guarded)


def _close(handle, pid, _):
    # A forked child has the handle but not the library's threads.
    if os.getpid() == pid:
        return function("hocket_client_close", c_int, c_void_p)(handle)
    return 0


class Client:
    """One thread at a time. Errors are hocket.Error; the constructor and close() may block shortly.

    `tensors`: pairs of name and bytes, in the order of the forward pass. `warn(text)` may be called
    on a thread of the library, `say(line)`, `on_profile(first_step, steps)` and `accept(config)`,
    which returns why a configuration cannot run or None, as the header says. `can_run`, `topology`,
    `config` and `traits` are JSON texts or objects.
    """

    def __init__(self, workload_name, tensors=(), *, world_size=0, link=None, topology=None,
                 rank=0, config=None, knobs=(), own_knobs=(), explore=0.0, can_run=None,
                 warn=None, say=None, accept=None, on_profile=None, traits=None):
        self._choices = {f"job.{knob.name}": knob.choices for knob in own_knobs if knob.choices}
        own = [_knob(knob) for knob in own_knobs]
        options = _Options(
            size=ctypes.sizeof(_Options), topology_json=_bytes(topology), world_size=world_size,
            link=_bytes(link), workload_name=workload_name.encode(),
            tensors=(_Tensor * len(tensors))(*((n.encode(), size) for n, size in tensors)),
            tensor_count=len(tensors), warn=_text_callback(warn), knobs=_texts(knobs),
            knob_count=len(knobs), explore=explore, say=_text_callback(say), rank=rank,
            config_json=_bytes(config), on_profile=_profile_callback(on_profile),
            can_run=_bytes(can_run),
            own_knobs=(POINTER(_Knob) * len(own))(*map(ctypes.pointer, own)),
            own_knob_count=len(own), accept=_accept_callback(accept),
            traits=_bytes(traits))
        self._handle = function("hocket_client_open", c_void_p, POINTER(_Options))(options)
        if not self._handle:
            raise_error()
        # Keeps the callbacks, which the library calls until it is closed, at the latest at exit.
        kept = (options.warn, options.say, options.on_profile, options.accept)
        self._closing = weakref.finalize(self, _close, self._handle, os.getpid(), kept)
        self._bind()

    def _bind(self):
        """Binds the calls of every step once, since looking them up takes longer than they do."""
        address = c_void_p
        self._fill = function("hocket_ballot_fill", c_int, c_void_p, address)
        self._read = function("hocket_ballot_read", c_int, c_void_p, address)
        self._step_ended = function("hocket_step_ended", c_int, c_void_p)
        self._iteration = function("hocket_iteration", c_int, c_void_p, c_int64, c_int64)
        self._program_step = function("hocket_program_step", c_int, c_void_p, c_int64)
        self._daemon = function("hocket_client_daemon", c_int, c_void_p, POINTER(c_char_p))
        self._counted = function("hocket_step_counted", c_int, c_void_p, c_int64, c_int64, c_int64)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _text(self, name):
        return function(f"hocket_client_{name}", c_char_p, c_void_p)(self._open()).decode()

    def _open(self):
        if self._handle is None:
            raise ValueError("the client is closed")
        return self._handle

    @property
    def config(self):
        """The configuration of the next step, as a JSON text."""
        return self._text("config")

    @property
    def source(self):
        return self._text("source")

    @property
    def detail(self):
        return self._text("detail")

    @property
    def key(self):
        return self._text("key")

    @property
    def search(self):
        """What the ended search of the key came to, for people; "" while it goes on."""
        try:
            return self._text("search")
        except AttributeError:
            return ""  # an older library does not say it

    @property
    def version(self):
        return function("hocket_client_version", c_int64, c_void_p)(self._open())

    def daemon(self):
        """Returns the daemon's Standing and, for people, why it takes no part; rank 0."""
        why = c_char_p()
        standing = self._daemon(self._open(), why)
        if standing < 0:
            raise_error()
        return Standing(standing), (why.value or b"").decode(errors="replace")

    def progress(self):
        """Returns how the job does, as a dictionary, which is empty before that is known; rank 0."""
        text = function("hocket_client_progress", c_char_p, c_void_p)(self._open())
        if text is None:
            raise_error()
        return json.loads(text)

    def get(self, knob):
        """Returns a knob of the next step's configuration; of a choice of the program's own its
        word."""
        value = c_int64()
        get = function("hocket_client_get", c_int, c_void_p, c_char_p, POINTER(c_int64))
        if get(self._open(), knob.encode(), value) < 0:
            raise_error()
        words = self._choices.get(knob)
        return words[value.value] if words else value.value

    @property
    def ballot_size(self):
        """Number of floats in a ballot; 0 where the program changes nothing while it trains."""
        return function("hocket_ballot_size", c_size_t, c_void_p)(self._open())

    def fill(self, ballot):
        """Fills a ballot: the address of ballot_size floats, or a ctypes array of them."""
        if self._fill(self._open(), ballot) < 0:
            raise_error()

    def read(self, ballot):
        """Reads the sum of all ranks' ballots."""
        if self._read(self._open(), ballot) < 0:
            raise_error()

    def step_ended(self):
        """Returns whether the configuration changes with the next step."""
        changed = self._step_ended(self._open())
        if changed < 0:
            raise_error()
        return changed == 1

    def iteration(self, step, iteration_s):
        if self._iteration(self._open(), step, round(iteration_s * 1e9)) < 0:
            raise_error()

    def program_step(self, step):
        """Says on rank 0 how many steps the program has ended, of which several share a ballot."""
        if self._program_step(self._open(), step) < 0:
            raise_error()

    def counted(self, step, waited_s, computed_s):
        """Says on any rank what it counted in a step, for `hocket stragglers`."""
        if self._counted(self._open(), step, round(waited_s * 1e9), round(computed_s * 1e9)) < 0:
            raise_error()

    def report(self, iterations_s):
        times = (c_int64 * len(iterations_s))(*(round(s * 1e9) for s in iterations_s))
        report = function("hocket_client_report", c_int, c_void_p, POINTER(c_int64), c_size_t)
        if report(self._open(), times, len(times)) < 0:
            raise_error()

    def save_traces(self, files, config):
        """Saves ranks' trace files, of each rank its path or None, as a profile of this job.

        `config` is the configuration of the steps, as JSON. May be called on another thread.
        """
        paths = (c_char_p * len(files))(*(file and os.fsencode(file) for file in files))
        save = function("hocket_client_save_traces", c_int, c_void_p, POINTER(c_char_p), c_size_t,
                        c_char_p)
        if save(self._open(), paths, len(files), _bytes(config)) < 0:
            raise_error()

    def ballot(self):
        """Returns room for a ballot."""
        return (c_float * self.ballot_size)()

    def close(self):
        """May be called again. Raises hocket.Error when the report could not be written."""
        self._handle = None
        result = self._closing()
        if result is not None and result < 0:
            raise_error()
