"""The ranks of a job among themselves: hocket's own gloo group, and what is exchanged over it."""

import ctypes
import datetime
import socket

import torch
import torch.distributed as dist

from hocket.library import Error
from hocket.torch.kept_works import kept

# A rank that is this far behind has left the others, whose own collectives would report it.
LONGEST_WAIT = datetime.timedelta(minutes=5)


class Peers:
    """All ranks make it, and call its functions, in the same order: each is a collective."""

    def __init__(self):
        self.group = dist.new_group(backend="gloo")
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        hosts = self.gather(socket.gethostname())
        self.is_one_host = len(set(hosts)) == 1
        self.ranks_on_host = hosts.count(hosts[self.rank])

    def gather(self, word):
        """Returns the words of all ranks."""
        words = [None] * self.world_size
        dist.all_gather_object(words, word, group=self.group)
        return words

    def broadcast(self, word):
        """Returns rank 0's word."""
        words = [word]
        dist.broadcast_object_list(words, src=0, group=self.group)
        return words[0]

    def agree(self, problem):
        """Returns the first rank's problem, for people; None where no rank has one."""
        for rank, its_problem in enumerate(self.gather(problem)):
            if its_problem is not None:
                return its_problem if self.world_size == 1 else f"{its_problem} (rank {rank})"
        return None


class Ballots:
    """A client's ballots, summed beside the step: issued at a step's end, read at the next one's.

    Two floats more than the client's: the ranks that leave, which all ranks see in the same sum, so
    that either all go on or none does; and, from rank 0, how many steps share a ballot from now on.
    """

    def __init__(self, client, group):
        self._client, self._group = client, group
        self._leaving, self._steps = client.ballot_size, client.ballot_size + 1
        self._tensor = torch.zeros(client.ballot_size + 2)
        self._address = self._tensor.data_ptr()
        self._floats = (ctypes.c_float * len(self._tensor)).from_address(self._address)
        self._work = None
        self.leaving = None  # why this rank leaves
        self.steps = 1  # that share a ballot

    def exchange(self, steps):
        """Reads the sum issued last and issues the next ballot; False once a rank has left.

        A rank that leaves still reads this sum, since the others may change by it. `steps`: of rank
        0, how many are to share a ballot; 0 of the others. Raises RuntimeError when the group has
        failed.
        """
        if self._work is not None:
            self._work.wait(LONGEST_WAIT)
            self._work = None
            if self._floats[self._leaving] != 0:
                return False
            self.steps = int(self._floats[self._steps])
            self._attempt(self._client.read)
        self._attempt(self._client.fill)
        if self.leaving is not None:
            self._tensor.zero_()
        self._floats[self._leaving] = self.leaving is not None
        self._floats[self._steps] = steps
        self._work = kept(dist.all_reduce(self._tensor, group=self._group, async_op=True))
        return True

    def _attempt(self, call):
        try:
            call(self._address)
        except Exception as error:  # the other ranks wait for this rank's ballot
            self.leave(error)

    def leave(self, why):
        """Ends the tuning on all ranks, with the next ballot."""
        if self.leaving is None:
            self.leaving = why if isinstance(why, str) else f"{type(why).__name__}: {why}"

    def finish(self, seconds):
        """Reads the last sum if it comes within the time."""
        if self._work is None:
            return
        work, self._work = self._work, None
        try:
            work.wait(datetime.timedelta(seconds=seconds))
            if self._floats[self._leaving] == 0 and self.leaving is None:
                self._client.read(self._address)
        except (RuntimeError, Error, ValueError):
            pass  # the other ranks, or the group, are gone already
