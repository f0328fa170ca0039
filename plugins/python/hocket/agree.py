"""One choice on all ranks for what each rank tunes by itself, such as the shape of a kernel.

    config = hocket.agree(("matmul", m, n, k), CONFIGS, lambda config: seconds_of(config))

    @hocket.agreed(TILES)               # of a function that measures and chooses by itself
    def best_tile(shape): ...

    @hocket.agreed_kernel               # of a kernel of Triton
    @triton.autotune(configs=…, key=["n"])
    @triton.jit
    def kernel(…): ...

docs/guides/agree.md says what holds when ranks are late, missing, or measure other things.
"""

import functools
import hashlib
import json
import logging
import math
import os
import re
import sys

from hocket import agreement
from hocket.agreement import FIRST, MEDIAN, RANK_0, WAYS
from hocket.choices import Choice, environment
from hocket.library import Error

LONGEST_S = 60.0
_log = logging.getLogger("hocket")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def agree(key, candidates, measure, *, by=RANK_0, group=None, longest_s=LONGEST_S, describe=repr,
          versions=None):
    """Returns the candidate that all ranks of the process group take for this key.

    `measure(candidate)` returns its time; one for which it raises is not chosen. It is called on
    rank 0 of the group alone, `by="first"` on the rank that comes first alone, and `by="median"` on
    all, whose medians decide. A choice of an earlier job is taken instead of measuring. Where the
    others wait longer than `longest_s`, all ranks take the first candidate, also those that come
    later.

    The key and the candidates, as `describe` says them, are equal on all ranks; a rank may ask in
    any order of keys (not by="median") and as often as it likes. `versions`: names and versions of
    what else a stored choice depends on. Raises hocket.Error where ranks have other candidates, and
    ValueError for arguments that cannot be right.
    """
    candidates = list(candidates)

    def times():
        return [_time_of(key, measure, candidate) for candidate in candidates]
    return candidates[_agreed_index(key, candidates, times, by, group, longest_s, describe,
                                    versions)]


def agreed(candidates, *, key=None, by=FIRST, group=None, longest_s=LONGEST_S, describe=repr,
           versions=None):
    """Makes the ranks agree on what a function returns that chooses one of the candidates, and
    keeps it for each key, in the attribute `cache`. Only the rank that decides calls the function.

    `candidates`: a list, or a function of the arguments. `key`: a function of the arguments; else
    they are the key. The other options are those of agree().
    """
    if by == MEDIAN:
        raise ValueError("agreed(): a function that returns its choice has no times; by is "
                         f"{RANK_0!r} or {FIRST!r}, not {MEDIAN!r}")

    def wrap(choose):
        @functools.wraps(choose)
        def call(*arguments, **named):
            its_key = key(*arguments, **named) if key else (arguments, tuple(sorted(named.items())))
            if its_key not in call.cache:
                among = list(candidates(*arguments, **named) if callable(candidates)
                             else candidates)
                whole_key = (choose.__module__, choose.__qualname__, its_key)
                call.cache[its_key] = among[_agreed_index(
                    whole_key, among,
                    lambda: _times_by_choice(whole_key, among, choose, arguments, named),
                    by, group, longest_s, describe, versions)]
            return call.cache[its_key]
        call.cache = {}
        return call
    return wrap


def _times_by_choice(key, candidates, choose, arguments, named):
    """Returns times by which the candidate wins that the function chooses."""
    try:
        chosen = candidates.index(choose(*arguments, **named))
    except Exception as error:
        _log.info("hocket: agree %s: no choice: %s: %s", key, type(error).__name__, error)
        chosen = None
    return [0.0 if number == chosen else math.inf for number in range(len(candidates))]


def _agreed_index(key, candidates, times, by, group, longest_s, describe, versions):
    key = _text(key)
    descriptions = _descriptions(key, candidates, by, describe)
    try:
        rank, size, store = _members(group)
    except _NoMembers as error:
        return _fallback(key, str(error))
    choice = Choice(key, descriptions, environment(size, versions))
    measured = []

    def measure():
        measured[:] = times()
        return measured
    part = agreement.Part(
        rank, size, by, hashlib.sha256(json.dumps(descriptions).encode()).hexdigest(),
        len(candidates), longest_s, choice.read, measure)
    try:
        verdict = agreement.take_part(store(key), part) if size > 1 else agreement.decide(part)
    except RuntimeError as error:  # what PyTorch's stores raise
        return _fallback(key, f"the job's store failed ({error})")
    return _taken(key, verdict, by, rank, measured, choice)


def _taken(key, verdict, by, rank, measured, choice):
    """Returns the index to take, and stores what was measured, also if the others did not wait."""
    found = None
    if by != MEDIAN:
        found = agreement.best(measured) if measured else None
    elif rank == 0 and measured and verdict.kind == agreement.WINNER:
        found = verdict.index
    if found is not None and verdict.kind != agreement.REFUSED:
        try:
            choice.write(found)
        except OSError as error:
            _log.info("hocket: agree %s: the choice is not stored: %s", key, error)
    if verdict.kind == agreement.REFUSED:
        raise Error(f"hocket: agree {key}: {verdict.why}; give every rank the same candidates in "
                    "the same order")
    if verdict.kind == agreement.FALLBACK:
        return _fallback(key, verdict.why)
    _log.info("hocket: agree %s: candidate %d, %s", key, verdict.index, verdict.why)
    return verdict.index


def _fallback(key, why):
    _log.warning("hocket: agree %s: no agreement, so the first candidate is taken: %s", key, why)
    return 0


def _time_of(key, measure, candidate):
    try:
        time = float(measure(candidate))
    except Exception as error:  # such as one for which the device lacks memory
        _log.info("hocket: agree %s: a candidate failed: %s: %s", key, type(error).__name__, error)
        return math.inf
    return time if time >= 0 else math.inf


def _text(key):
    text = key if isinstance(key, str) else repr(key)
    if not text or _ADDRESS.search(text):
        raise ValueError(f"agree(): the key {text!r} names an object by its address, which differs "
                         "among ranks, or is empty; give a text, numbers, or a tuple of them")
    return text


def _descriptions(key, candidates, by, describe):
    if by not in WAYS:
        raise ValueError(f"agree({key}): by is {by!r}; it is one of {', '.join(map(repr, WAYS))}")
    if not candidates:
        raise ValueError(f"agree({key}): there are no candidates; give at least one")
    # Two that read alike are told apart by their places.
    descriptions = [f"{number}: {describe(each)}" for number, each in enumerate(candidates)]
    for text in descriptions:
        if _ADDRESS.search(text):
            raise ValueError(f"agree({key}): the candidate {text!r} has an address, which differs "
                             "among ranks; give `describe`, a function that returns its text")
    return descriptions


class _NoMembers(Exception):
    """It is not known who the other ranks are."""


def _members(group):
    """Returns this rank's number in the group, the group's size, and a function of a key that
    returns the store of its agreement."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        if os.environ.get("WORLD_SIZE", "1") not in ("", "1"):
            raise _NoMembers("torch.distributed is not initialized, though WORLD_SIZE says that "
                             "there are other ranks")
        return 0, 1, None
    from hocket.torch.peers import ranks_of
    ranks = ranks_of(group)
    if distributed.get_rank() not in ranks:
        raise ValueError("agree(): this rank is not in the group; call it on the group's ranks")

    def store(key):
        name = hashlib.sha256(json.dumps([ranks, key]).encode()).hexdigest()
        return distributed.PrefixStore(f"hocket/agree/{name}",
                                       distributed.distributed_c10d._get_default_store())
    return ranks.index(distributed.get_rank()), len(ranks), store
