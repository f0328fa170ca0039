"""Trains a small model with DistributedDataParallel on two ranks, over gloo on the loopback, has the
ranks send each other a tensor in each step, and writes what PyTorch's profiler saw to FOLDER/rank-0.json and FOLDER/rank-1.json.

    pytorch_trace.py FOLDER STEPS
"""

import gc
import os
import subprocess
import sys

RANKS = 2
TIME_LIMIT_S = 120


def exchange(torch, distributed, rank):
    """Rank 0 sends first; the other way the two operations are a batch."""
    tensor = torch.zeros(1000)
    if rank == 0:
        distributed.isend(tensor, 1).wait()
    else:
        distributed.irecv(tensor, 0).wait()
    operation = distributed.irecv if rank == 0 else distributed.isend
    for work in distributed.batch_isend_irecv([distributed.P2POp(operation, tensor, 1 - rank)]):
        work.wait()


def train(folder, steps, rank):
    import torch
    import torch.distributed as distributed
    from torch.profiler import ProfilerActivity, profile, schedule

    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [layer for _ in range(3) for layer in (torch.nn.Linear(128, 128), torch.nn.ReLU())]
    # Buckets are so small that each layer has its own all-reduce.
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers), bucket_cap_mb=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def write(profiler):
        profiler.export_chrome_trace(f"{folder}/rank-{rank}.json")

    # Two warm-up iterations: buckets are rebuilt after the first one.
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=write,
                 schedule=schedule(wait=1, warmup=1, active=steps, repeat=1)) as profiler:
        for iteration in range(2 + steps):
            optimizer.zero_grad()
            model(torch.randn(64, 128)).sum().backward()
            optimizer.step()
            exchange(torch, distributed, rank)
            if iteration == 1 + steps:
                # A thread of Gloo may end the event of an all-reduce after its result is used, and
                # the profiler of PyTorch 1.13 drops events that have not ended when it stops.
                # The end of the process group, which the model holds as well, joins that thread.
                model = None
                gc.collect()
                distributed.destroy_process_group()
            profiler.step()


def main():
    folder, steps = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) > 3:
        train(folder, steps, int(sys.argv[3]))
        return 0
    environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo")
    ranks = [
        subprocess.Popen([sys.executable, __file__, folder, str(steps), str(rank)], env=environment)
        for rank in range(RANKS)
    ]
    try:
        for rank in ranks:
            rank.wait(TIME_LIMIT_S)
    finally:
        for rank in ranks:
            rank.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
