"""The ranks that train a model among themselves: hocket's own gloo group, and what is exchanged
over it."""

import collections
import ctypes
import datetime
import pickle
import socket

import torch
import torch.distributed as dist

from hocket.library import Error
from hocket.torch import meeting
from hocket.torch.kept_works import kept, kept_for_good
from hocket.torch.subject import LeftAlone

# A rank that is this far behind has left the others, whose own collectives would report it.
LONGEST_WAIT = datetime.timedelta(minutes=5)
TIMEOUT = datetime.timedelta(minutes=30)  # of an operation of the group, as of PyTorch's groups

_c10d = dist.distributed_c10d
_meetings = collections.Counter()  # by the ranks that were to meet


def ranks_of(group=None):
    """Returns the numbers, among all ranks, of a process group's; of all ranks without one."""
    if group is None:
        return tuple(range(dist.get_world_size()))
    return tuple(dist.get_process_group_ranks(group))


def _meet(ranks, longest_s):
    """Returns a store of these ranks alone, all of which are there. Raises LeftAlone."""
    number, _meetings[ranks] = _meetings[ranks], _meetings[ranks] + 1
    name = ",".join(map(str, ranks))
    store = dist.PrefixStore(f"hocket/{number}/{name}", _c10d._get_default_store())
    own = ranks.index(dist.get_rank())
    try:
        missing = meeting.meet(dist.PrefixStore("meeting", store), own, len(ranks), longest_s)
    except meeting.Undecided as error:
        raise LeftAlone(str(error)) from None
    if missing is None:
        return store
    late = ", ".join(str(ranks[rank]) for rank in missing) or "one"
    present = [rank for rank in range(len(ranks)) if rank not in missing]
    raise LeftAlone(f"not all of its {len(ranks)} ranks began within {longest_s:g} s; missing: "
                    f"{late}", is_known=own != present[0])


class Peers:
    """The ranks of a model, numbered within their group. All make it and call its functions in the
    same order: each is a collective, of a group that the program does not see.

    PyTorch's new_group() is a collective of all ranks of the job, and names groups by how many each
    rank has made; a rank that does not train this model would have to take part.
    """

    def __init__(self, ranks, longest_s):
        """Raises LeftAlone on all ranks that are there if one has not come after `longest_s`."""
        self.rank, self.world_size = ranks.index(dist.get_rank()), len(ranks)
        self._store, self._groups = _meet(ranks, longest_s), 0
        self.group = self.new_group()
        hosts = self.gather(socket.gethostname())
        self.is_one_host = len(set(hosts)) == 1
        self.ranks_on_host = hosts.count(hosts[self.rank])
        counts = set(collections.Counter(hosts).values())
        # As in the topology: 0 with one host, or where hosts have different numbers.
        self.ranks_per_host = 0 if self.is_one_host or len(counts) > 1 else counts.pop()

    def new_group(self):
        """Returns a gloo group of these ranks. The program's destroy_process_group() leaves it."""
        self._groups += 1
        # Kept, since a rank that frees it may still have others in its last collective.
        return kept_for_good(_c10d.ProcessGroupGloo(
            dist.PrefixStore(f"group/{self._groups}", self._store), self.rank, self.world_size,
            TIMEOUT))

    def gather(self, word):
        """Returns the words of all ranks."""
        own = _bytes_of(word)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.world_size)]
        self._all_gather(sizes, torch.tensor([len(own)]))
        longest = max(int(size) for size in sizes)
        words = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.world_size)]
        self._all_gather(words, torch.nn.functional.pad(own, (0, longest - len(own))))
        return [_word_of(word[:int(size)]) for word, size in zip(words, sizes)]

    def _all_gather(self, all_of, own):
        kept(self.group.allgather([all_of], [own])).wait()

    def broadcast(self, word):
        """Returns rank 0's word."""
        own = _bytes_of(word)
        size = torch.tensor([len(own)])
        start_broadcast(self.group, size).wait()
        if self.rank > 0:
            own = torch.zeros(int(size), dtype=torch.uint8)
        start_broadcast(self.group, own).wait()
        return _word_of(own)

    def agree(self, problem):
        """Returns the first rank's problem, for people; None where no rank has one."""
        for rank, its_problem in enumerate(self.gather(problem)):
            if its_problem is not None:
                return its_problem if self.world_size == 1 else f"{its_problem} (rank {rank})"
        return None


def start_broadcast(group, tensor):
    """Sends the tensor of rank 0 of one of hocket's groups; returns its work."""
    options = _c10d.BroadcastOptions()
    options.rootRank = options.rootTensor = 0
    return kept(group.broadcast([tensor], options))


def start_all_reduce(group, tensor, operation=dist.ReduceOp.SUM):
    """Sums a tensor over one of hocket's groups; returns its work."""
    options = _c10d.AllreduceOptions()
    options.reduceOp = operation
    return kept(group.allreduce([tensor], options))


def _bytes_of(word):
    return torch.frombuffer(bytearray(pickle.dumps(word)), dtype=torch.uint8)


def _word_of(tensor):
    return pickle.loads(bytes(tensor.tolist()))


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
        self.all_leave = False  # whether all ranks left with the same ballot
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
                self.all_leave = self._floats[self._leaving] == self._group.size()
                return False
            self.steps = int(self._floats[self._steps])
            self._attempt(self._client.read)
        self._attempt(self._client.fill)
        if self.leaving is not None:
            self._tensor.zero_()
        self._floats[self._leaving] = self.leaving is not None
        self._floats[self._steps] = steps
        self._work = start_all_reduce(self._group, self._tensor)
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
