"""What hocket.torch costs a small job of two ranks on loopback: a ballot, a switch of buckets, and the
share of an iteration while nothing is tried.

    HOCKET_CLIENT_LIBRARY=build/release/lib/libhocket_client.so.1 PYTHONPATH=plugins/python \\
        build/torch/bin/python benchmarks/torch/tuning_cost.py

8 linear layers of 256, batch 64: short iterations, in which the cost is easiest to see. Untuned and
tuned jobs run in turn, with a daemon. The share is measured within one job, with 8 layers of 512,
batch 256: blocks of steps with and without tuning alternate, so that a slow change of the machine
affects both. Prints medians of rank 0.
"""

import os
import statistics
import subprocess
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import hocket.torch
from hocket.torch import buckets, peers

PROGRAM = os.environ.get("HOCKET_PROGRAM", "build/release/bin/hocket")
STEPS, SKIP, SWITCHES, ROUNDS = 400, 50, 40, 3
PAIRS, BLOCK, BLOCK_SKIP = 24, 60, 20


def timed(owner, name, times):
    """Adds what each call of a method takes to `times`."""
    inner = getattr(owner, name)

    def method(*arguments):
        began = time.perf_counter()
        result = inner(*arguments)
        times.append(time.perf_counter() - began)
        return result
    setattr(owner, name, method)


def show(rank, what, times):
    low, middle, high = statistics.quantiles(times, n=4)
    if rank == 0:
        print(f"{what:<28} {1e6 * middle:8.1f} us  ({1e6 * low:.1f} - {1e6 * high:.1f})", flush=True)


def train(rank, folder, is_tuned):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting-{is_tuned}", rank=rank,
                            world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)]))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    exchanges, data, ends = [], torch.randn(64, 256), []
    timed(peers.Ballots, "exchange", exchanges)
    job = hocket.torch.tune(model, optimizer, explore=0) if is_tuned else None
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(data).pow(2).mean().backward()
        optimizer.step()
        ends.append(time.perf_counter())
    iterations = [b - a for a, b in zip(ends[SKIP:], ends[SKIP + 1:])]
    show(rank, "iteration, tuned" if is_tuned else "iteration, untuned", iterations)
    if job:
        show(rank, "a ballot", exchanges)
        if rank == 0:
            print(f"{'ballots':<28} {len(exchanges):8d} in {STEPS} steps", flush=True)
        job.close()
        switch(rank, model)
    dist.destroy_process_group()


def switch(rank, model):
    """Changes the buckets between steps, without training in between."""
    subject, times = buckets.Buckets(model), []
    timed(buckets.Buckets, "_replace_reducer", times)
    for i in range(SWITCHES):
        subject.apply({buckets.KNOB: (1 << 18) << i % 2})
    show(rank, "a switch of the buckets", times)


def idle(rank, folder):
    """Steps in blocks, tuned and not in turn."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting-idle", rank=rank,
                            world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(*[nn.Linear(512, 512) for _ in range(8)]))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(256, 512)
    medians = {True: [], False: []}
    for block in range(2 * PAIRS):
        # Tuned first in every other pair.
        is_tuned = (block + block // 2) % 2 == 0
        job = hocket.torch.tune(model, optimizer, explore=0) if is_tuned else None
        ends = []
        for _ in range(BLOCK):
            optimizer.zero_grad()
            model(data).pow(2).mean().backward()
            optimizer.step()
            ends.append(time.perf_counter())
        if job:
            job.close()
        ends = ends[BLOCK_SKIP:]
        medians[is_tuned].append(statistics.median(b - a for a, b in zip(ends, ends[1:])))
    if rank == 0:
        ratios = [tuned / plain for tuned, plain in zip(medians[True], medians[False])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{'tuned to untuned, of a step':<28} {middle:.4f}  ({low:.4f} - {high:.4f}) of "
              f"{1e3 * statistics.median(medians[False]):.1f} ms, {PAIRS} pairs", flush=True)
    dist.destroy_process_group()


def main():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "store.db")
            os.environ.update(HOCKET_STORE=store, XDG_CACHE_HOME=folder, XDG_STATE_HOME=folder)
            served = subprocess.Popen(
                [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", store, "--no-tokens",
                 "--log-level", "error"], stdout=subprocess.PIPE, text=True)
            os.environ["HOCKET_DAEMON"] = served.stdout.readline().strip()
            try:
                for is_tuned in (False, True):
                    torch.multiprocessing.spawn(train, (folder, is_tuned), nprocs=2)
                torch.multiprocessing.spawn(idle, (folder,), nprocs=2)
            finally:
                served.terminate()
                served.wait()


if __name__ == "__main__":
    main()
