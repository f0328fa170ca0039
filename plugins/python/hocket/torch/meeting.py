"""The ranks of a group find out whether all of them begin to tune.

They do so through the store by which the ranks of the job have found each other, and not by a
collective, in which the others would wait for a rank that never comes.
"""

import time

# For the verdict, once this rank has given up: it comes at once, unless who has to give it died.
LONGEST_VERDICT_S = 30.0
POLL_S = 0.002

_GIVEN_UP = 1 << 32
_ALL, _MISSING = 1, 1 << 16


class Undecided(Exception):
    """It is not known whether all ranks are there."""


def meet(store, rank, size, longest_s, now=time.monotonic, sleep=time.sleep):
    """Returns None where all `size` ranks have come. Otherwise returns those that had not, as far
    as they have not come since.

    Each rank waits at most `longest_s` for the others. Of the ranks that call it with one store,
    which no other meeting has used, either all get None or none does. Only `store.add()` is used,
    which every store has and which is atomic. Raises Undecided, and what the store raises.
    """
    for is_waiting in steps(store, rank, size, longest_s, now):
        if is_waiting:
            sleep(POLL_S)
    if store.add("verdict", 0) < _MISSING:
        return None
    return [other for other in range(size) if store.add(f"rank {other}", 0) == 0]


def steps(store, rank, size, longest_s, now):
    """Takes part in a meeting, and yields before each call of the store, True where it waits: a
    test takes the steps of several ranks in every order.

    One counter has who came and who has given up. Whoever comes as the last while nobody has given
    up says that all are there, and whoever gives up first says whether they were: never different
    things.
    """
    yield False
    if store.add(f"rank {rank}", 1) > 1:
        raise Undecided(f"rank {rank} has begun before")
    yield False
    if store.add("come", 1) == size:
        yield False
        store.add("verdict", _ALL)
    deadline, has_given_up = now() + longest_s, False
    yield False
    while store.add("verdict", 0) == 0:
        if now() < deadline:
            yield True
            continue
        if has_given_up:
            raise Undecided(f"a rank has ended while {size} ranks met")
        has_given_up, deadline = True, now() + LONGEST_VERDICT_S
        yield False
        before = store.add("come", _GIVEN_UP) - _GIVEN_UP
        if before < _GIVEN_UP:
            yield False
            store.add("verdict", _ALL if before == size else _MISSING)
        yield False
