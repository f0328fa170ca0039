// The placement of a job on a device of limited memory.

import { bytesText, percentText } from "../../format.js";
import { fact } from "./parts.js";

/// Names in a job's values (core/protocol/reported_values.h).
const PEAK = "device_peak_bytes", LIMIT = "device_memory_bytes", LAYERS = "layers";

/// Returns whether the job runs on a device of limited memory.
export function isPlaced(job) {
  return job.values?.[LIMIT] > 0;
}

/// Returns the values that are not of the placement, as pairs of name and value.
export function otherValues(job) {
  return Object.entries(job.values ?? {}).filter(([name]) =>
    !isPlaced(job) || ![PEAK, LIMIT, LAYERS].includes(name));
}

function keptText(job) {
  const layers = job.values[LAYERS] ?? 0;
  return `${Math.min(job.config?.offload_k ?? 0, layers)} of ${layers}`;
}

/// Returns what a lane of the trace is used for; null for communication.
function laneName(job, { kind, lane }) {
  if (kind === "compute") return lane < (job.config?.streams ?? 1) ? "device" : "host";
  if (kind === "copy") return lane === 0 ? "copies to the device" : "copies to the host";
  return null;
}

/// Returns for example "device 71 %, 65 %; host 2 %; copies to the device 50 %".
function lanesText(job) {
  const busy = new Map();
  for (const lane of job.activity?.lanes ?? []) {
    const name = laneName(job, lane);
    if (name) busy.set(name, [...busy.get(name) ?? [], percentText(lane.busy)]);
  }
  return [...busy].map(([name, shares]) => `${name} ${shares.join(", ")}`).join("; ") || "–";
}

/// Returns facts that are hidden unless the job is placed; update(job) of the list changes them.
export function placementFacts() {
  const memory = fact("Device memory", "the most that a step takes of the device's limit");
  const kept = fact("Layers kept", "by the device, which updates them; its host has the others");
  const lanes = fact("In use", "share of the iteration in which the device and its host compute " +
                               "and copies run");
  const elements = [memory, kept, lanes];
  elements.update = (job) => {
    for (const element of elements) element.hidden = !isPlaced(job);
    if (!isPlaced(job)) return;
    memory.update(`${bytesText(job.values[PEAK])} of ${bytesText(job.values[LIMIT])}`);
    kept.update(keptText(job));
    lanes.update(lanesText(job));
  };
  return elements;
}
