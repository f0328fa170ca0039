// Unions of intervals and the figures that docs/METRICS.md defines by them. Pure.

/// Returns the union of intervals [begin, end], sorted and disjoint.
export function union(intervals) {
  const sorted = intervals.filter(([begin, end]) => end > begin).sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const [begin, end] of sorted) {
    const last = merged.at(-1);
    if (last && begin <= last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      merged.push([begin, end]);
    }
  }
  return merged;
}

/// Returns `all` without `taken`; both are unions.
export function without(all, taken) {
  const rest = [];
  let k = 0;
  for (const [begin, end] of all) {
    let at = begin;
    while (k < taken.length && taken[k][1] <= at) ++k;
    for (let i = k; i < taken.length && taken[i][0] < end; ++i) {
      if (taken[i][0] > at) rest.push([at, taken[i][0]]);
      at = Math.max(at, taken[i][1]);
    }
    if (at < end) rest.push([at, end]);
  }
  return rest;
}

export function length(intervals) {
  return intervals.reduce((sum, [begin, end]) => sum + end - begin, 0);
}

/// Returns M \ C of a rank's lanes [{kind, boxes: [[lane, begin, end, name], …]}].
export function exposedOf(lanes) {
  const of = (kind) => union(lanes.filter((lane) => lane.kind === kind)
    .flatMap((lane) => lane.boxes.map((box) => [box[1], box[2]])));
  return without(of("communication"), of("compute"));
}

/// Returns what the daemon answers to timeline/range, for lanes in memory.
export function figuresOf(layout, lanes, begin, end) {
  const top = new Map(), ranks = [];
  for (const { rank } of layout.ranks) {
    const of = { compute: [], communication: [], copy: [] };
    const hasWork = layout.lanes.some((lane) => lane.rank === rank && lane.kind in of);
    let records = 0;
    layout.lanes.forEach((lane, i) => {
      if (lane.rank !== rank || !(lane.kind in of)) return;
      for (let k = lanes[i].firstEndingAfter(begin); k < lanes[i].size; ++k) {
        if (lanes[i].begins[k] >= end) break;
        const part = [Math.max(lanes[i].begins[k], begin), Math.min(lanes[i].ends[k], end)];
        if (part[1] < part[0]) continue;
        of[lane.kind].push(part);
        ++records;
        count(top, lane.kind, layout.names[lanes[i].names[k]], part[1] - part[0]);
      }
    });
    const compute = union(of.compute), communication = union(of.communication);
    const busy = union([...compute, ...communication, ...of.copy]);
    ranks.push({ rank, compute_ns: length(compute), communication_ns: length(communication),
                 exposed_ns: length(without(communication, compute)),
                 copy_ns: length(union(of.copy)),
                 idle_ns: hasWork ? end - begin - length(busy) : null, records });
  }
  const sorted = [...top.values()].sort((a, b) => b.busy_ns - a.busy_ns).slice(0, 20);
  return { begin_ns: begin, end_ns: end, ranks, top: sorted };
}

function count(top, kind, name, ns) {
  const key = `${kind} ${name}`;
  const row = top.get(key) ?? { kind, name, records: 0, busy_ns: 0 };
  ++row.records;
  row.busy_ns += ns;
  top.set(key, row);
}
