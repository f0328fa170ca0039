// A job's present state, in the parts that the list and the job's own page share.

import { h, reconcile, replace, setState, setText } from "../../dom.js";
import { badge, longText } from "../../elements.js";
import { agoText, durationText, isSame, percentText, printable } from "../../format.js";

const KINDS = { compute: "streams", communication: "channels", copy: "copies" };
const VERDICTS = {
  applied: { word: "kept", kind: "good" },
  rolled_back: { word: "went back", kind: "warning" },
  rejected: { word: "rejected", kind: "bad" },
};

export function versionText(job) {
  return job.version > 0 ? String(job.version) : "own";
}

/// Returns "version 3, imported from site a, 2026-11-29", or "its own".
export function originText(job) {
  if (!(job.version > 0)) return "its own";
  return `version ${job.version}${job.version_from ? `, ${printable(job.version_from)}` : ""}`;
}

/// Returns the share of the iteration in which rank 0 communicates and computes nothing; null if
/// the job does not measure it.
export function exposedShare(job) {
  if (!job.activity || !(job.iteration_ns > 0)) return null;
  return Math.min(Math.max(job.activity.exposed_ns / job.iteration_ns, 0), 1);
}

export function iterationText(job) {
  return job.iteration_ns > 0 ? durationText(job.iteration_ns) : "–";
}

/// Returns "1.2 % of 3.0 %": what trying candidates has cost, and what it may.
export function budgetText(job) {
  if (!(job.explore > 0)) return "tries no candidates";
  return `${percentText(job.explored)} of ${percentText(job.explore)}`;
}

export function budgetShare(job) {
  return job.explore > 0 ? job.explored / job.explore : 0;
}

function busyText(lanes) {
  return Object.entries(KINDS).map(([kind, word]) => {
    const busy = lanes.filter((lane) => lane.kind === kind);
    return busy.length > 0 && `${word} ${busy.map((lane) => percentText(lane.busy)).join(", ")}`;
  }).filter(Boolean).join("; ");
}

/// Returns a bar for each stream, channel and copy lane of rank 0; update(job) changes them.
export function busyBars() {
  const bars = h("span", { class: "busy-bars", role: "img" });
  const none = h("span", null, "–");
  const element = h("span", null, bars, none);
  element.update = (job) => {
    const lanes = (job.activity?.lanes ?? []).filter((lane) => lane.kind in KINDS);
    bars.hidden = lanes.length === 0;
    none.hidden = lanes.length > 0;
    setState(bars, "aria-label", `Busy: ${busyText(lanes)}`);
    setState(bars, "title", busyText(lanes));
    reconcile(bars, lanes, (lane) => `${lane.kind}${lane.lane}`,
              (lane) => h("span", { class: `busy-bar ${lane.kind}` }, h("span")),
              (bar, lane) => {
                const height = `${Math.round(100 * Math.min(Math.max(lane.busy, 0), 1))}%`;
                bar.firstChild.style.height = height;
              });
  };
  return element;
}

/// Returns "trial 24" or "version 3".
export function subjectText(change) {
  return change.trial !== undefined ? `trial ${change.trial}` : `version ${change.version}`;
}

export function verdictBadge(status) {
  const { word, kind } = VERDICTS[status] ?? { word: status, kind: "" };
  return badge(word, kind);
}

/// Returns "48.6 ms → 46.1 ms": the medians under the current configuration and the candidate.
export function measuredText(change) {
  if (!(change.current_ns > 0) || !(change.candidate_ns > 0)) return "";
  return `${durationText(change.current_ns)} → ${durationText(change.candidate_ns)}`;
}

/// Returns one line: what is tried now, else the last verdict. update(job) changes it.
export function lastLine() {
  const element = h("p", { class: "last-line" });
  let shown = null;
  element.update = (job) => {
    const changes = job.changes ?? [], last = changes[changes.length - 1] ?? null;
    const now = job.trying ? { ...job.trying } : last && { ...last, ago: agoText(last.ago_ns) };
    if (now) delete now.ago_ns;
    const wanted = { now, trying: Boolean(job.trying), last_change: job.last_change };
    if (isSame(wanted, shown)) return;
    shown = wanted;
    if (job.trying) {
      replace(element, badge("trying", "accent"), " ", subjectText(job.trying));
    } else if (last) {
      replace(element, verdictBadge(last.status), " ", subjectText(last), " · ", now.ago,
              last.message && [": ", longText(last.message, 160)]);
    } else {
      replace(element, h("span", { class: "hint" }, job.last_change || "nothing tried yet"));
    }
  };
  return element;
}

/// Returns what is unusual about a job: away, tuning stopped.
export function stateBadges(job) {
  return [job.connected ? null : badge(`away, last heard ${agoText(job.silent_ns)}`, "warning"),
          job.tuning_stopped ? badge("tuning stopped", "bad") : null];
}

/// Returns an element that shows stateBadges(job), changed only when they do.
export function jobState() {
  const element = h("span", { class: "badges" });
  element.update = (job) => {
    const badges = stateBadges(job).filter(Boolean);
    const text = badges.map((one) => one.textContent).join();
    if (element.shown === text) return;
    element.shown = text;
    replace(element, badges);
  };
  return element;
}

/// Returns a term and its value for a list of facts; update(text) changes it.
export function fact(term, title) {
  const value = h("dd");
  const element = h("div", { title }, h("dt", null, term), value);
  element.put = (node) => {
    value.append(node);
    return element;
  };
  element.update = (text) => setText(value, text);
  return element;
}
