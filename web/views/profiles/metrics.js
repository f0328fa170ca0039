// Names of metrics, their units and what they mean, as docs/METRICS.md defines them. Pure
// functions.

import { countText, durationText, numberText, percentText } from "../../format.js";

/// Returns a metric's value with the unit that its name says.
export function metricText(name, value) {
  if (typeof value !== "number") return "–";
  if (name.endsWith("_ns")) return durationText(value);
  if (name.endsWith("bandwidth")) return `${numberText(value / 1e9)} GB/s`;
  if (/(share|overlap|efficiency)$/.test(name)) return percentText(value);
  return Number.isInteger(value) ? countText(value) : numberText(value);
}

/// Returns "+12.3 %".
export function changeText(before, after) {
  if (typeof before !== "number" || typeof after !== "number") return "–";
  if (before === after) return "0 %";
  if (before === 0) return "–";
  const share = (after - before) / Math.abs(before);
  return `${share > 0 ? "+" : "−"}${percentText(Math.abs(share))}`;
}

/// Returns a time with its sign.
export function signedText(ns) {
  if (!ns) return durationText(0);
  return `${ns > 0 ? "+" : "−"}${durationText(Math.abs(ns))}`;
}

const groups = {
  iterations: "Iterations: median over each rank's iterations",
  streams: "Streams: gaps and launches of each rank",
  collectives: "Collectives: median over those of one kind",
  job: "The job",
};

const meanings = {
  iterations: {
    iterations: "number of iterations, the sample of the other figures",
    iteration_ns: "from the start of a step's first task to that of the next step",
    compute_ns: "some computation runs: what better overlap cannot remove",
    communication_ns: "communication is in flight, including waiting for other ranks",
    copy_ns: "some other copy runs",
    exposed_ns: "communication runs and no computation: what a better schedule can still hide",
    other_ns: "copies that overlap with nothing",
    idle_ns: "nothing runs",
    exposed_share: "exposed communication as a share of the iteration",
    overlap: "share of communication behind computation; 100 %: all of it is hidden",
  },
  streams: {
    gap_host_ns: "gaps before the work was submitted: the host is too slow",
    gap_event_ns: "gaps after submission, while something it depends on was unfinished",
    gap_kernel_ns: "gaps in which work was ready: the executor's own cost",
    gap_unknown_ns: "gaps of which it is not known when the work was submitted or ready",
    launch_median_ns: "from submission to begin, on a stream that had nothing else to do",
    launch_p95_ns: "its 95th percentile",
    launch_all_median_ns: "the same over all records: how far ahead the host runs",
    launch_all_p95_ns: "its 95th percentile",
  },
  collectives: {
    count: "number of collectives",
    arrival_skew_ns: "from the first rank's arrival to the last one's: stragglers, not the network",
    wait_ns: "communication time spent in waiting for the last rank, mean over ranks",
    transfer_ns: "time that the network took after the last rank had arrived",
    algorithm_bandwidth: "bytes per transfer time (algbw of NCCL tests)",
    bus_bandwidth: "comparable with the link's bandwidth for any number of ranks (busbw)",
  },
  job: {
    slowest_rank: "the rank with the most computation, for which all others wait",
    slowest_rank_ns: "how much more computation it has than the median rank",
    headroom_ns: "what perfect overlap could still gain; negative when parts run concurrently",
    bound_ns: "T*, the least time of an iteration that the order of layers allows",
    overlap_efficiency: "100 %: the bound is reached; 0 %: nothing overlaps",
  },
};

/// Returns {group, title, meaning} of a metric; those that are not known are of the job.
export function metricOf(name) {
  for (const [group, known] of Object.entries(meanings)) {
    const short = group === "collectives" ? name.slice(name.lastIndexOf(".") + 1) : name;
    const isOf = group !== "collectives" || name.includes(".");
    if (isOf && Object.hasOwn(known, short)) {
      return { group, title: groups[group], meaning: known[short] };
    }
  }
  return { group: "job", title: groups.job, meaning: "" };
}

/// Returns the names of metrics by group, each in the order of the definitions.
export function grouped(names) {
  const place = (name) => {
    const { group } = metricOf(name);
    const [kind, short] = group === "collectives" && name.includes(".")
      ? [name.slice(0, name.lastIndexOf(".")), name.slice(name.lastIndexOf(".") + 1)] : ["", name];
    return [kind, Object.keys(meanings[group]).indexOf(short)];
  };
  return Object.entries(groups).map(([group, title]) => ({
    group, title,
    names: names.filter((name) => metricOf(name).group === group).sort((a, b) => {
      const [kindA, placeA] = place(a), [kindB, placeB] = place(b);
      return kindA.localeCompare(kindB) || placeA - placeB;
    }),
  })).filter((each) => each.names.length > 0);
}
