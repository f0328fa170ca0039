"""How ranks that each tune something by themselves come to one choice, without a collective.

The first text that a store holds under a name stays there (`compare_set`), so a verdict, once given,
is the same for every rank that asks, whenever it comes, and however often. Whoever waits in vain
gives the verdict that there is no agreement, and takes what it reads: its own, or the one that
came first.
"""

import json
import math
import time
from collections.abc import Callable
from typing import NamedTuple

RANK_0, FIRST, MEDIAN = WAYS = ("rank 0", "first", "median")
WINNER, FALLBACK, REFUSED = "winner", "fallback", "refused"

_VERDICT, _LEADER, _CANDIDATES = "verdict", "leader", "candidates"
_UNSET = "?"  # no value begins with it
_SHORTEST_POLL_S, _LONGEST_POLL_S = 0.002, 0.25
_MOST_TEXT = 1 << 20


class Verdict(NamedTuple):
    """`kind`: WINNER with its number among the candidates, FALLBACK, or REFUSED, which is also the
    answer of a single rank whose candidates differ."""

    kind: str
    index: int
    why: str


class Part(NamedTuple):
    """A rank's part in an agreement."""

    rank: int
    size: int
    by: str  # of WAYS
    digest: str  # of the candidates; no blanks
    count: int  # of candidates
    longest_s: float  # to wait for others
    stored: Callable[[], int | None]  # the choice of an earlier job
    measure: Callable[[], list[float]]  # of each candidate its time; infinite where it failed


def take_part(store, part, now=time.monotonic, sleep=time.sleep):
    """Returns the verdict. All ranks that get one get the same, and candidate 0 stands for it where
    it is no WINNER; one that is REFUSED to a single rank only is known to that rank alone.

    A rank waits at most `longest_s` for the others, and twice that by MEDIAN. `store` is one that no
    other agreement uses; several threads or calls of a rank may. Raises what the store raises: then
    the verdict is not known.
    """
    pause_s, taken = _SHORTEST_POLL_S, steps(store, part, now)
    while True:
        try:
            is_waiting = next(taken)
        except StopIteration as ended:
            return _verdict_of(ended.value, part.count)
        if is_waiting:
            sleep(pause_s)
            pause_s = min(1.5 * pause_s, _LONGEST_POLL_S)


def decide(part):
    """Returns the verdict of a rank that is alone."""
    stored = part.stored()
    return _verdict_of(_winner(part.measure(), "measured") if stored is None
                       else _stored(stored), part.count)


def steps(store, part, now):
    """Takes part, and yields before each call of the store, True where it waits: a test takes the
    steps of several ranks in every order. Returns the verdict's text."""
    yield False
    digest, _, first = _propose(store, _CANDIDATES, f"{part.digest} {part.rank}").partition(" ")
    if digest != part.digest:
        refusal = f"{REFUSED} 0 rank {part.rank} has other candidates than rank {ascii(first)[1:-1]}"
        yield False
        _propose(store, _VERDICT, refusal)
        return refusal
    yield False
    verdict = _read(store, _VERDICT)
    if verdict is not None:
        return verdict
    leader = "0"
    if part.by == FIRST:
        yield False
        leader = _propose(store, _LEADER, str(part.rank))
    if leader == str(part.rank):
        stored = part.stored()
        if stored is not None:
            yield False
            return _propose(store, _VERDICT, _stored(stored))
    if part.by == MEDIAN:
        return (yield from _measured_by_all(store, part, now))
    if leader == str(part.rank):
        text = _winner(_measured(store, part), f"measured by rank {part.rank}")
        yield False
        return _propose(store, _VERDICT, text)
    return (yield from _awaited(store, part, now, (_VERDICT,), f"rank {leader}"))


def best(times):
    """Returns the number of the shortest time, None where all have failed."""
    index = min(range(len(times)), key=times.__getitem__)
    return index if math.isfinite(times[index]) else None


def _measured_by_all(store, part, now):
    """Rank 0 says that nothing is stored. Then each leaves its times; the last to do so sees those
    of all, and gives the verdict."""
    if part.rank == 0:
        yield False
        _propose(store, _LEADER, "0")
    else:
        word = yield from _awaited(store, part, now, (_VERDICT, _LEADER), "rank 0")
        if word != "0":
            return word
    times = _measured(store, part)
    yield False
    _propose(store, f"times {part.rank}", json.dumps(times))
    all_times = []
    for rank in range(part.size):
        yield False
        text = _read(store, f"times {rank}")
        if text is None:
            break
        all_times.append(_times_of(text, part.count))
    else:
        medians = [_median(of_ranks) for of_ranks in zip(*all_times)]
        yield False
        return _propose(store, _VERDICT, _winner(medians, "measured by all ranks"))
    return (yield from _awaited(store, part, now, (_VERDICT,), f"each of {part.size} ranks"))


def _measured(store, part):
    try:
        return part.measure()
    except BaseException:  # the program ends, or is interrupted
        _propose(store, _VERDICT, f"{FALLBACK} 0 rank {part.rank} did not measure to the end")
        raise


def _awaited(store, part, now, names, whom):
    """Returns the first of these texts that is there; gives the verdict where none comes."""
    deadline = now() + part.longest_s
    while True:
        for name in names:
            yield False
            text = _read(store, name)
            if text is not None:
                return text
        if now() >= deadline:
            yield False
            return _propose(store, _VERDICT, f"{FALLBACK} 0 rank {part.rank} waited "
                                             f"{part.longest_s:g} s for {whom}")
        yield True


def _propose(store, name, text):
    """Returns the text that the store holds under this name from now on."""
    return _text_of(store.compare_set(name, "", text))


def _read(store, name):
    """Returns the text under this name, or None; changes nothing."""
    text = _text_of(store.compare_set(name, _UNSET, _UNSET))
    return None if text == _UNSET else text


def _text_of(value):
    return value[:_MOST_TEXT].decode(errors="replace") if isinstance(value, bytes) else value


def _stored(index):
    return f"{WINNER} {index} stored by an earlier job"


def _winner(times, how):
    index = best(times)
    return f"{FALLBACK} 0 no candidate ran, {how}" if index is None else f"{WINNER} {index} {how}"


def _median(times):
    """A candidate that failed on one rank is no choice for the others."""
    ordered, half = sorted(times), len(times) // 2
    return (ordered[half] + ordered[~half]) / 2 if math.isfinite(ordered[-1]) else math.inf


def _times_of(text, count):
    """Returns a rank's times; what is none counts as failed."""
    try:
        times = json.loads(text)
        if len(times) == count:
            return [float(each) if each >= 0 else math.inf for each in times]
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return [math.inf] * count


def _verdict_of(text, count):
    """Returns what the text says; the same on all ranks, also where it says nothing."""
    kind, _, rest = text.partition(" ")
    number, _, why = rest.partition(" ")
    why = ascii(why[:200])[1:-1]
    if kind in (FALLBACK, REFUSED):
        return Verdict(kind, 0, why)
    if kind == WINNER and number.isascii() and number.isdigit() and len(number) < 10 \
            and int(number) < count:
        return Verdict(WINNER, int(number), why)
    return Verdict(FALLBACK, 0, "what the job's store holds is no verdict")
