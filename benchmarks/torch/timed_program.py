"""Runs a Python program as its own, and prints the median time of its iterations in ms at its end.

    timed_program.py SKIP PROGRAM [ARGUMENT…]

An iteration is from the end of one step of the program's first optimizer to the end of its next.
The first SKIP are left out. The times are taken by a hook of PyTorch, with and without hocket.
"""

import atexit
import os
import runpy
import statistics
import sys
import time

from torch.optim.optimizer import register_optimizer_step_post_hook

ends, first = [], []


def ended(optimizer, *_):
    first.append(optimizer) if not first else None
    if optimizer is first[0]:
        ends.append(time.perf_counter())


def show():
    times_ms = [1e3 * (b - a) for a, b in zip(ends, ends[1:])][skip:]
    if not times_ms:
        print("timed_program: no iterations after those left out", file=sys.stderr)
        return
    print(f"iterations {len(times_ms)} median_ms {statistics.median(times_ms):.3f}", flush=True)


skip = int(sys.argv[1])
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
register_optimizer_step_post_hook(ended)
if os.environ.get("RANK") == "0":
    atexit.register(show)
runpy.run_path(sys.argv[0], run_name="__main__")
