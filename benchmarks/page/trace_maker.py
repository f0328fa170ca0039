"""Writes traces as hocket exports them (docs/formats/trace.md), as large as a benchmark wants."""

import random

STREAMS, CHANNELS = 2, 2
LAYERS = 48
# Records of a rank and step: two halves of a pass on each layer and stream, parts of each layer's
# gradient, copies, and a range for each layer.
RECORDS_A_STEP = LAYERS * (2 * STREAMS + 2) + 8 + LAYERS + 1
BEGIN_US = 1_000_000_000.0
# Longer than any step of _lanes_of, so that all ranks begin a step at the same time.
STEP_US = 14_000.0


def _event(rank, tid, begin_us, length_us, category, name, arguments):
    return (f'{{"ph":"X","pid":{rank},"tid":{tid},"ts":{begin_us:.3f},"dur":{length_us:.3f},'
            f'"cat":"{category}","name":"{name}","args":{{{arguments}}}}}')


def _lanes_of(rank, steps):
    """Records of a rank by lane, each lane in the order of time."""
    compute = [[] for _ in range(STREAMS)]
    parts = [[] for _ in range(CHANNELS)]
    copies, ranges = [], []
    # All ranks compute the same for nearly the same time.
    common, own = random.Random(1), random.Random(2 + rank)
    free, sequence = [0.0] * CHANNELS, 0
    for step in range(steps):
        now = BEGIN_US + step * STEP_US
        for half in ("forward", "backward"):
            for layer in range(LAYERS):
                name = f"block.{layer if half == 'forward' else LAYERS - 1 - layer}.{half}"
                lengths = [common.uniform(40, 120) * own.uniform(1, 1.02) for _ in range(STREAMS)]
                for stream, length in enumerate(lengths):
                    compute[stream].append((now, length * 0.98, step, "compute", stream, name, ""))
                if half == "forward":
                    ranges.append((now, max(lengths), step, "range", 0, name, ""))
                now += max(lengths)
                for _ in range(2 if half == "backward" else 0):
                    channel = sequence % CHANNELS
                    start = max(now, free[channel])
                    length = common.uniform(60, 150)
                    free[channel] = start + length
                    parts[channel].append(
                        (start, length * 0.99, step, "communication", channel, name,
                         f',"sequence":{sequence},"collective":"all_reduce"'))
                    sequence += 1
        for _ in range(8):
            copies.append((now, 9.0, step, "copy", 0, "batch", ""))
            now += 10
        now = max(now, *free)
        ranges.append((now, 20.0, step, "range", 0, "optimizer", ""))
        assert now + 20 < BEGIN_US + (step + 1) * STEP_US
    return [*compute, *parts, copies, ranges]


def write_rank(path, rank, ranks, steps):
    """Writes the trace of one rank; returns the number of its records."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"traceEvents":[\n')
        file.write(f'{{"ph":"M","pid":{rank},"tid":0,"name":"hocket","args":{{"dropped":0,"host":'
                   f'"host-{rank // 4}","quarantined":0,"ranks":{ranks},"source":"host"}}}},\n')
        for clock in (0, 1):
            clock_ns = int(BEGIN_US * 1000) + clock * 10**9
            file.write(f'{{"ph":"M","pid":{rank},"tid":0,"name":"hocket_clock","args":{{"clock_ns":'
                       f'{clock_ns},"realtime_ns":{1_790_000_000_000_000_000 + clock_ns}}}}},\n')
        for step in range(steps):
            begin = BEGIN_US + step * STEP_US
            file.write(f'{{"ph":"i","s":"p","pid":{rank},"tid":0,"ts":{begin:.3f},"cat":"step",'
                       f'"name":"step {step}","args":{{"step":{step}}}}},\n')
        for tid, lane in enumerate(_lanes_of(rank, steps), 1):
            for begin, length, step, category, index, name, more in lane:
                size = 1 << 20 if category in ("communication", "copy") else 0
                file.write(_event(rank, tid, begin, length, category, name,
                                  f'"lane":{index},"step":{step},"bytes":{size}{more}'))
                file.write(",\n")
                count += 1
        file.write(f'{{"args":{{"name":"rank {rank}"}},"name":"process_name","ph":"M",'
                   f'"pid":{rank},"tid":0}}\n]}}\n')
    return count


def write_ranks(folder, ranks, events):
    """Writes traces of about so many records in all; returns their paths and the number."""
    steps = max(1, round(events / ranks / RECORDS_A_STEP))
    paths = [folder / f"rank-{rank}.json" for rank in range(ranks)]
    return paths, sum(write_rank(path, rank, ranks, steps) for rank, path in enumerate(paths))
