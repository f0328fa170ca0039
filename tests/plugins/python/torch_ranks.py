"""Ranks of a PyTorch job for tests: processes that meet in a temporary folder."""

import logging
import multiprocessing
import os
import pickle
import tempfile
import traceback

import torch
import torch.distributed as dist

LONG_S = 300

try:
    # DistributedDataParallel imports it, for seconds; ranks are forked with it.
    import torch._dynamo  # noqa: F401
except ImportError:
    pass  # before 2.0

# Set before ranks are forked: they inherit it.
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
torch.set_num_threads(1)


class Failed(Exception):
    """A rank's traceback."""


def run_ranks(function, *arguments, count=2, environment=None, expect_exits=None):
    """Returns function(rank, *arguments) of each rank, in a process group of gloo.

    `expect_exits`: the exit statuses of ranks that end without a result, by rank.
    """
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        pipes = [context.Pipe(duplex=False) for _ in range(count)]
        processes = [context.Process(target=_rank, args=(
            rank, count, folder, pipes[rank][1], environment or {}, function, arguments))
            for rank in range(count)]
        for process, (_, writer) in zip(processes, pipes):
            process.start()
            writer.close()
        results = [_receive(reader) for reader, _ in pipes]
        for rank, process in enumerate(processes):
            process.join(LONG_S)
            if process.is_alive():
                process.kill()
                raise Failed(f"rank {rank} does not end")
    for rank, (is_result, result) in enumerate(results):
        status = (expect_exits or {}).get(rank)
        if status is not None:
            if processes[rank].exitcode != status:
                raise Failed(f"rank {rank} exited with {processes[rank].exitcode}: {result}")
        elif not is_result:
            raise Failed(f"rank {rank}:\n{result}")
    return [result for _, result in results]


def _receive(reader):
    try:
        if reader.poll(LONG_S):
            return pickle.loads(reader.recv_bytes())
        return False, "no result within the time"
    except EOFError:
        return False, "it ended without a result"


class _Lines(logging.Handler):
    def __init__(self, level):
        super().__init__(level)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def _rank(rank, count, folder, writer, environment, function, arguments):
    os.environ.update(environment)
    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank,
                                world_size=count)
        dist.barrier()  # a rank that ends soon must not break another's connecting
        torch.manual_seed(0)
        answer = True, function(rank, *arguments)
    except BaseException:  # shown by the test
        answer = False, traceback.format_exc()
    writer.send_bytes(pickle.dumps(answer))
    writer.close()
    if answer[0] and dist.is_initialized():
        dist.destroy_process_group()


def log_lines(level=logging.DEBUG):
    """Returns the list to which hocket's log of this process, from a level on, goes from now on."""
    handler, logger = _Lines(level), logging.getLogger("hocket")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    return handler.lines
