#!/usr/bin/env python3
"""What the NCCL plugin gains a PyTorch job whose ranks share one GPU, or have one each.

    benchmarks/nccl/torch_ranks.py [--build build/release] [--ranks 2] [--seconds 60] [--json FILE]

Needs PyTorch with NCCL; the daemon, the plugin and the client library are taken from the build.
Two programs, one after the other: `loop`, an iteration of all-reduces from 4 KiB to 4 MiB, and
`ddp`, a step of a multilayer perceptron in DistributedDataParallel. Each runs without the plugin,
with it for `--seconds` while it tries, as a second job that starts with what was found, and without
it again. Prints the medians of the iterations, from the last third of each job.

Ranks on one GPU are hosts of their own to NCCL, which would refuse them otherwise, and talk through
sockets. With `--backend gloo` the programs run without a GPU, and without anything to tune.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = [1 << power for power in range(12, 23)]


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--explore", default="0.3")
    parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
    parser.add_argument("--programs", default="loop,ddp")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--meeting", help=argparse.SUPPRESS)
    return parser.parse_args()


def make_step(program, device):
    """Returns a function that does one iteration on the device."""
    import torch
    import torch.distributed as dist
    from torch import nn
    if program == "loop":
        buffers = [torch.ones(size // 4, device=device) for size in SIZES]

        def loop():
            for buffer in buffers:
                dist.all_reduce(buffer)
        return loop
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(512, 512), nn.ReLU())])
        .to(device), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(64, 512, device=device)

    def train():
        optimizer.zero_grad()
        model(data).pow(2).mean().backward()
        optimizer.step()
    return train


def rank_main(given):
    import torch
    import torch.distributed as dist
    is_gpu = given.backend == "nccl"
    device = torch.device("cuda", given.rank % torch.cuda.device_count()) if is_gpu \
        else torch.device("cpu")
    if is_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group(given.backend, init_method=f"file://{given.meeting}", rank=given.rank,
                            world_size=given.ranks)
    step = make_step(given.program, device)
    ends = torch.zeros(1, device=device)
    times, began = [], time.perf_counter()
    while True:
        start = time.perf_counter()
        step()
        if is_gpu:
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
        # All ranks end together; asked seldom, as it is an all-reduce of its own.
        if len(times) % 20 == 0:
            ends.fill_(float(time.perf_counter() - began > given.seconds))
            dist.all_reduce(ends, op=dist.ReduceOp.MAX)
            if ends.item() > 0:
                break
    if given.rank == 0:
        last = times[len(times) * 2 // 3:]
        low, middle, high = statistics.quantiles(last, n=4)
        print(json.dumps({"median_ms": middle, "low_ms": low, "high_ms": high,
                          "iterations": len(times)}), flush=True)
    dist.destroy_process_group()


def environment_of(given, rank, plugin, url, folder):
    ours = dict(os.environ, HOCKET_STORE=f"{folder}/own.db")
    if given.backend == "nccl":
        import torch
        if torch.cuda.device_count() < given.ranks:
            ours |= {"NCCL_HOSTID": f"host{rank}", "NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1",
                     "NCCL_SHM_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
    if plugin is not None:
        ours |= {"NCCL_TUNER_PLUGIN": "hocket", "NCCL_PROFILER_PLUGIN": "hocket",
                 "HOCKET_DAEMON": url, "HOCKET_NCCL_EXPLORE": plugin, "NCCL_DEBUG": "INFO",
                 "HOCKET_NCCL_STEP_BACK": "0",
                 "NCCL_DEBUG_SUBSYS": "TUNING,PROFILE", "NCCL_DEBUG_FILE": f"{folder}/nccl.%p",
                 "LD_LIBRARY_PATH": f"{given.build}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    return ours


def train(given, program, seconds, plugin, url, folder):
    """Runs a job; `plugin` is the share of the time for trying, None without the plugin."""
    meeting = tempfile.mktemp(dir=folder)
    ranks = [subprocess.Popen(
        [sys.executable, __file__, "--ranks", str(given.ranks), "--rank", str(rank),
         "--program", program, "--meeting", meeting, "--seconds", str(seconds),
         "--backend", given.backend],
        env=environment_of(given, rank, plugin, url, folder), text=True,
        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL)
        for rank in range(given.ranks)]
    said, _ = ranks[0].communicate()
    if any(rank.wait() for rank in ranks):
        sys.exit(f"{program}: a rank ended with an error")
    return json.loads(said.strip().splitlines()[-1])


def said_by_plugin(folder):
    lines = []
    for name in sorted(os.listdir(folder)):
        if name.startswith("nccl."):
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                lines += [line.split("hocket: ", 1)[1].strip() for line in file
                          if "hocket: " in line]
    return lines


def main():
    given = options()
    if given.rank is not None:
        return rank_main(given)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        daemon = subprocess.Popen(
            [f"{given.build}/bin/hocket", "serve", "--listen", "127.0.0.1:0", "--no-tokens",
             "--store", f"{folder}/store.db"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = daemon.stdout.readline().strip()
        try:
            for program in given.programs.split(","):
                short = min(given.seconds, 5)
                for name, seconds, plugin in (("without", short, None),
                                              ("trying", given.seconds, given.explore),
                                              ("second job", short, "0"),
                                              ("without again", short, None)):
                    row = train(given, program, seconds, plugin, url, folder)
                    figures[f"{program}, {name}"] = row
                    print(f"{program + ', ' + name:<22} {row['median_ms']:8.3f} ms  "
                          f"({row['low_ms']:.3f} - {row['high_ms']:.3f})", flush=True)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
        lines = said_by_plugin(folder)
    print("\n".join(lines))
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"ranks": given.ranks, "rows": figures, "said": lines}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
