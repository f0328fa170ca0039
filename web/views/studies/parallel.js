// Parallel coordinates with brushes: trials are filtered by dragging along axes or by inputs, shown
// in the drawing and listed below it.

import { h, replace, setText } from "../../dom.js";
import { countedText } from "../../format.js";
import { setQuery } from "../../router.js";
import { empty } from "../../states.js";
import { AxisBrushes, brushField } from "./axes.js";
import { brushesIn, brushQuery, matches, noBrushes } from "./brush.js";
import { parametersOf } from "./data.js";
import { sortIn, sortQuery } from "../parts.js";
import { PlotTab } from "./plots.js";
import { trialTable } from "./trials.js";

export class ParallelTab extends PlotTab {
  constructor(study) {
    super(study, "parallel", "A line for each trial, coloured by its value; grey lines failed. " +
      "Drag along an axis to keep the trials in that range, click it to lift the range, or type " +
      "ranges below. Several axes can have one.");
    this.axes = new AxisBrushes({
      parameters: parametersOf(study.study),
      trials: () => study.trials,
      onbrush: (name, brush) => this.set(name, brush),
      ondrag: (name, brush) => this.preview(name, brush),
    });
    this.fields = this.makeFields();
    this.count = h("p", { class: "brush-count", role: "status" });
    this.clear = h("button", { type: "button", class: "small", onclick: () => this.lift() },
      "Show all trials");
    this.list = h("div");
    this.element.append(
      h("details", { class: "brush-fields", open: true }, h("summary", null, "Ranges"),
        h("div", { class: "fields" }, [...this.fields.values()])),
      h("div", { class: "controls" }, this.count, this.clear), this.list);
  }

  makeFields() {
    const fields = new Map();
    const add = (options) => fields.set(options.name,
      brushField(options, (brush) => this.set(options.name, brush)));
    for (const parameter of parametersOf(this.study.study)) {
      const { name, choices, low, high, values } = parameter;
      add({ name, title: name, choices, low: low ?? values?.[0], high: high ?? values?.at(-1) });
    }
    add({ name: "", title: this.study.objectives[0].label });
    return fields;
  }

  set(name, brush) {
    setQuery(brushQuery(name, brush), { replace: true });
  }

  lift() {
    setQuery(noBrushes(this.study.query), { replace: true });
  }

  drawn(plot) {
    this.axes.attach(plot.drawing);
    plot.keep(this.kept ?? null);
  }

  preview(name, brush) {
    const brushes = new Map(this.axes.brushes);
    if (brush) brushes.set(name, brush);
    else brushes.delete(name);
    this.plot.keep(this.numbers(brushes));
  }

  numbers(brushes) {
    if (brushes.size === 0) return null;
    return new Set(this.study.trials.filter((trial) => matches(trial, brushes))
      .map((trial) => trial.number));
  }

  update() {
    super.update();
    const brushes = brushesIn(this.study.query);
    this.kept = this.numbers(brushes);
    this.plot?.keep(this.kept);
    this.axes.show(brushes);
    for (const [name, field] of this.fields) field.update(brushes.get(name));
    const all = this.study.trials;
    const rows = this.kept ? all.filter((trial) => this.kept.has(trial.number)) : all;
    setText(this.count, this.kept
      ? `${rows.length} of ${countedText(all.length, "trial")} in these ranges`
      : `${countedText(all.length, "trial")}, no range is set`);
    this.clear.hidden = !this.kept;
    this.showRows(rows);
  }

  showRows(rows) {
    if (rows.length === 0) {
      this.table = null;
      replace(this.list, empty("No trial is in these ranges.",
        "Widen a range, or press “Show all trials”."));
    } else if (this.table) {
      this.table.update(rows);
    } else {
      this.table = trialTable(this.study, rows, {
        caption: "Trials in these ranges", reasons: null,
        sort: sortIn(this.study.query) ?? { column: this.study.objectives[0].label,
          descending: this.study.objectives[0].isMax },
        onsort: (sort) => setQuery(sortQuery(sort), { replace: true }),
      });
      replace(this.list, this.table);
    }
  }
}
