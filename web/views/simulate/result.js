// The simulator's answer: figures as bars on one scale, notes, and the timeline.

import { h, replace, setState, setText } from "../../dom.js";
import { countText, countedText, durationText, numberText, percentText,
         printable } from "../../format.js";
import { MemorySource } from "../../timeline/memory_source.js";
import { TimeView } from "../../timeline/time_view.js";
import "../../timeline/timeline.js";

/// Room beyond the longest bar.
const MARGIN = 1.04;

function barsOf(answer) {
  const { baseline } = answer;
  return [
    { name: "Baseline", ns: baseline?.iteration_ns, kind: "baseline" },
    { name: "Prediction", ns: answer.iteration_ns, kind: "prediction", low: answer.low_ns,
      high: answer.high_ns },
    { name: "Bound T*", ns: answer.bound_ns, kind: "bound" },
    { name: "Computation", ns: answer.compute_ns, kind: "compute" },
    { name: "Communication", ns: answer.communication_ns, kind: "communication" },
    { name: "Exposed", ns: answer.exposed_ns, kind: "exposed" },
  ].filter(({ ns }) => typeof ns === "number");
}

function share(ns, most) {
  return `${(100 * Math.max(0, ns) / most).toFixed(2)}%`;
}

function barRow({ name, ns, kind, low, high }, most) {
  const hasError = typeof low === "number" && typeof high === "number";
  return h("tr", null, h("th", { scope: "row" }, name),
    h("td", { class: "numeric" }, durationText(ns),
      hasError && h("span", { class: "error-range" },
                    `${durationText(low)} – ${durationText(high)}`)),
    h("td", { class: "bar-cell", "aria-hidden": "true" }, h("div", { class: "bar-track" },
      h("div", { class: `bar bar-${kind}`, style: { width: share(ns, most) } }),
      hasError && h("div", { class: "whisker",
        style: { left: share(low, most), width: share(high - low, most) } }))));
}

/// Returns the bars as a table, which says the same in numbers.
function barChart(answer) {
  const bars = barsOf(answer);
  const most = MARGIN * Math.max(1, ...bars.map(({ ns, high }) => Math.max(ns, high ?? 0)));
  return h("table", { class: "simulate-bars" },
    h("caption", { class: "visually-hidden" }, "Times of an iteration"),
    h("tbody", null, bars.map((bar) => barRow(bar, most))));
}

function headline(answer) {
  const { speedup, baseline } = answer;
  const kind = speedup > 1.002 ? "good" : speedup < 0.998 ? "bad" : "";
  return h("div", { class: "simulate-headline" },
    h("div", null, h("span", { class: "simulate-label" }, "Predicted iteration"),
      h("strong", null, durationText(answer.iteration_ns))),
    h("div", null, h("span", { class: "simulate-label" }, "Speed-up"),
      h("strong", { class: kind }, typeof speedup === "number" ? `${numberText(speedup)} ×` : "–"),
      baseline && h("span", { class: "simulate-against" }, "against ", h("bdi", null,
        printable(baseline.name)), `, ${durationText(baseline.iteration_ns)}`)),
    h("div", null, h("span", { class: "simulate-label" }, "Overlap efficiency η"),
      h("strong", null, percentText(answer.efficiency))));
}

/// Says how far the prediction may be off, or that there are no others.
function certainty(answer) {
  if (answer.withheld) {
    return h("p", { class: "hint" }, "Nothing but the measured configuration is predicted: ",
             h("bdi", null, printable(answer.withheld)));
  }
  if (answer.error_text) return h("p", { class: "hint" }, printable(answer.error_text));
  return h("p", { class: "hint" }, "Nothing was measured of this step, so no error is known. " +
           "A profile of the job would give one.");
}

export class SimulateResult {
  #view = new TimeView();

  constructor() {
    this.figures = h("section", { class: "simulate-figures", "aria-label": "Prediction" });
    // A short text: all figures would be too much to hear at each move of a slider.
    this.said = h("p", { class: "visually-hidden", role: "status" });
    this.timelines = h("section", { class: "timeline-panes beside", "aria-label": "Timelines",
                                    hidden: true });
    this.predicted = document.createElement("hk-timeline");
    this.baseline = document.createElement("hk-timeline");
    this.timelines.append(this.predicted, this.baseline);
    this.panels = h("details", { class: "simulate-panels", hidden: true },
      h("summary", null, "Figures of what is visible"));
    this.panels.append(this.predicted.parts.figures, this.baseline.parts.figures);
    this.element = h("div", { class: "simulate-result" },
                     this.said, this.figures, this.timelines, this.panels);
  }

  /// While a new answer is awaited the old one stays, dimmed.
  setBusy(isBusy) {
    setState(this.element, "aria-busy", isBusy ? "true" : null);
  }

  clear(...instead) {
    replace(this.figures, instead);
    this.timelines.hidden = true;
    this.panels.hidden = true;
  }

  /// Shows an answer; `base`: the baseline's answer, or null while it is the same or not there.
  show(answer, base) {
    replace(this.figures, headline(answer), barChart(answer), certainty(answer),
      answer.notes?.length > 0 && h("ul", { class: "timeline-notes" },
        answer.notes.map((note) => h("li", null, printable(note)))),
      h("p", { class: "hint" }, `${countedText(answer.ranks, "rank")}, ` +
        `${countText(answer.ranks_per_host)} on a host`));
    setText(this.said, `Predicted iteration ${durationText(answer.iteration_ns)}, ` +
            (answer.withheld ? "of the measured configuration alone"
                             : `speed-up ${numberText(answer.speedup)}`));
    const isDrawn = answer.timeline?.lanes.length > 0 && answer.timeline.end_ns > 0;
    this.timelines.hidden = !isDrawn;
    this.panels.hidden = !isDrawn;
    if (isDrawn) this.#showTimelines(answer, base);
  }

  #showTimelines(answer, base) {
    const shown = base?.timeline ? base : null;
    const end = Math.max(answer.timeline.end_ns, shown?.timeline.end_ns ?? 0);
    this.#view.setLimits(0, end);
    // A view that was opened for the first time shows all.
    if (this.#view.span <= 1) this.#view.set(0, end);
    this.baseline.hidden = !shown;
    this.baseline.parts.figures.hidden = !shown;
    const view = this.#view;
    this.predicted.show(new MemorySource(answer.timeline), { view, label: "Prediction" });
    if (shown && shown !== this.shownBase) {
      this.baseline.show(new MemorySource(shown.timeline), { view, label: "Baseline" });
    }
    this.shownBase = shown;
  }
}
