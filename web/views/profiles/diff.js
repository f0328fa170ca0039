// Two profiles compared: times, layers, tasks, figures.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { badge, nameElement } from "../../elements.js";
import { countText, durationText } from "../../format.js";
import { href } from "../../router.js";
import { failed, loading } from "../../states.js";
import { table } from "../../table.js";
import { changeText, metricOf, metricText, signedText } from "./metrics.js";
import { oneAtATime } from "../refresh.js";
import { bar, notesNode } from "../parts.js";

const titles = {
  iteration_ns: "Iteration", compute_ns: "Computation", communication_ns: "Communication",
  exposed_ns: "Exposed communication",
};

export class ProfileDiff {
  constructor(before, after) {
    Object.assign(this, { before, after });
    this.abort = new AbortController();
    this.refresh = oneAtATime(() => this.load());
    this.body = h("div", { class: "part" }, loading("Comparing the profiles"));
    const link = (name) => h("a", { href: href(["profiles", name]) }, h("bdi", null, name));
    this.element = h("div", { class: "part" },
      h("p", { class: "breadcrumb" }, h("a", { href: href(["profiles"]) }, "Profiles")),
      h("div", { class: "view-head" },
        h("h1", null, "Two profiles compared"),
        h("div", { class: "tools" },
          h("a", { class: "button", href: href(["timeline", before], { beside: after }) },
            "Timelines side by side"),
          h("a", { class: "button", href: href(["profiles", after, "diff", before]) }, "Swap"))),
      h("p", { class: "pair" }, "Before: ", link(before), ", after: ", link(after)), this.body);
  }

  close() {
    this.abort.abort();
  }

  route() {}

  /// Profiles do not change, so what is shown is not compared again.
  async load() {
    if (this.isShown) return;
    const [before, after] = [this.before, this.after].map(encodeURIComponent);
    let difference;
    try {
      difference = await get(`/v1/profiles/${before}/diff/${after}`,
        { signal: this.abort.signal });
    } catch (error) {
      if (this.abort.signal.aborted) return;
      replace(this.body, failed(error, () => this.refresh()));
      return;
    }
    this.isShown = true;
    replace(this.body, verdict(difference), timesSection(difference), layersSection(difference),
      tasksSection(difference), metricsSection(difference), notesNode(difference.notes));
  }
}

function noiseText(time) {
  const p = time.p < 0.001 ? time.p.toExponential(1) : time.p.toPrecision(2);
  return `${time.beyond_noise ? "beyond" : "within"} the noise (p = ${p})`;
}

function verdict({ times }) {
  const time = times.find(({ name }) => name === "iteration_ns");
  if (!time) {
    return h("p", { class: "hint" }, "There are no iterations to compare: a profile has none.");
  }
  const isFaster = time.after_ns < time.before_ns;
  const tone = !time.beyond_noise ? "muted" : isFaster ? "good" : "bad";
  const word = isFaster ? "less" : "more";
  const change = changeText(time.before_ns, time.after_ns).replace(/^[+−]/, "");
  return h("div", { class: `verdict verdict-${tone}` },
    h("p", { class: "verdict-title" }, time.beyond_noise
      ? `An iteration takes ${change} ${word}: ${durationText(time.before_ns)} before, ` +
        `${durationText(time.after_ns)} after`
      : `No difference beyond the noise: ${durationText(time.before_ns)} before, ` +
        `${durationText(time.after_ns)} after`),
    h("p", null, h("strong", null, noiseText(time).replace(/^./, (first) => first.toUpperCase())),
      `. Medians of ${countText(time.before_iterations)} and ` +
      `${countText(time.after_iterations)} iterations of the lowest rank; rank-sum test. This is ` +
      "the noise within each run. Two runs of one configuration may differ by more, so profile " +
      "each configuration twice before you rely on a few percent."));
}

function timesSection({ times }) {
  if (times.length === 0) return null;
  return table({
    caption: "Times of an iteration", rows: times, key: ({ name }) => name, cards: true,
    columns: [
      { name: "Time", text: ({ name }) => titles[name] ?? name },
      { name: "Before", text: (time) => durationText(time.before_ns), numeric: true },
      { name: "After", text: (time) => durationText(time.after_ns), numeric: true },
      { name: "Change", text: (time) => changeText(time.before_ns, time.after_ns), numeric: true },
      { name: "Verdict", text: noiseText, node: (time) => h("span", null,
        badge(time.beyond_noise ? "beyond noise" : "within noise",
          time.beyond_noise ? "accent" : ""), ` ${noiseText(time).replace(/.*\(/, "(")}`) },
    ],
  });
}

function layersSection({ layers }) {
  if (!layers?.length) return null;
  const change = (layer) => layer.after_ns - layer.before_ns;
  const rows = [...layers].sort((a, b) => Math.abs(change(b)) - Math.abs(change(a)));
  const longest = Math.max(...layers.flatMap((each) => [each.before_ns, each.after_ns]), 1);
  const legend = h("p", { class: "legend" }, h("span", { class: "swatch bar-before" }), "before",
    h("span", { class: "swatch bar-after" }), "after");
  return h("section", { class: "layers" }, legend, table({
    caption: "Layers: time in an iteration, the largest change first", rows, limit: 40,
    key: ({ layer }) => layer,
    columns: [
      { name: "Layer", text: ({ layer }) => layer, sort: ({ layer }) => layer,
        node: ({ layer }) => nameElement(layer, "of no layer") },
      { name: "Before and after", class: "bars", text: (each) =>
        `${durationText(each.before_ns)}, ${durationText(each.after_ns)}`,
      sort: (each) => each.before_ns, node: (each) => h("div", { class: "bar-pair" },
        bar(each.before_ns / longest, "before"), h("span", null, durationText(each.before_ns)),
        bar(each.after_ns / longest, "after"), h("span", null, durationText(each.after_ns))) },
      { name: "Change", numeric: true, text: (each) => signedText(change(each)), sort: change },
      { name: "Relative", numeric: true, text: (each) => changeText(each.before_ns, each.after_ns),
        sort: (each) => (each.before_ns > 0 ? change(each) / each.before_ns : null) },
    ],
  }));
}

function tasksSection({ tasks }) {
  if (tasks.length === 0) return null;
  const text = (figures) => (figures.records === 0 ? "–" : durationText(figures.median_ns));
  return table({
    caption: "Tasks: median of one, and what changed in an iteration", rows: tasks, limit: 20,
    cards: true, key: ({ kind, name }) => `${kind} ${name}`,
    columns: [
      { name: "Task", class: "long", text: ({ name }) => name, sort: ({ name }) => name,
        node: ({ name }) => nameElement(name) },
      { name: "Kind", text: ({ kind }) => kind, sort: ({ kind }) => kind },
      { name: "Before", numeric: true, text: (task) => text(task.before),
        sort: (task) => task.before.median_ns },
      { name: "After", numeric: true, text: (task) => text(task.after),
        sort: (task) => task.after.median_ns },
      { name: "In an iteration", numeric: true, text: (task) => signedText(task.change_ns),
        sort: (task) => Math.abs(task.change_ns),
        hint: "how much more or less of an iteration it takes, on one rank" },
    ],
  });
}

function metricsSection({ metrics }) {
  const rows = metrics.filter(({ before, after }) => before !== after);
  if (rows.length === 0) return null;
  return table({
    caption: "Figures that differ", rows, limit: 60, cards: true,
    key: ({ name, rank }) => `${name} ${rank}`,
    columns: [
      { name: "Figure", class: "figure", text: ({ name }) => name, sort: ({ name }) => name,
        node: ({ name }) => [h("code", null, name),
          h("span", { class: "meaning" }, metricOf(name).meaning)] },
      { name: "Rank", text: ({ rank }) => rank ?? "job", sort: ({ rank }) => rank ?? -1 },
      { name: "Before", numeric: true, text: ({ name, before }) => metricText(name, before) },
      { name: "After", numeric: true, text: ({ name, after }) => metricText(name, after) },
      { name: "Change", numeric: true, text: ({ before, after }) => changeText(before, after),
        sort: ({ before, after }) => before ? (after - before) / Math.abs(before) : null },
    ],
  });
}
