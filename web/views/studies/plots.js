// Tabs of a study that show a drawing of the daemon.
import { getText } from "../../api.js";
import { h, replace } from "../../dom.js";
import { badge } from "../../elements.js";
import { percentText, valueText } from "../../format.js";
import { setQuery } from "../../router.js";
import { empty, failed, loading } from "../../states.js";
import { plot } from "../../svg.js";
import { table } from "../../table.js";
import { oneAtATime } from "../refresh.js";
import { measuredText, parametersOf, paramsText } from "./data.js";
import { trialHint } from "./trial.js";
import { trialHref } from "./trials.js";

/// A drawing with a sentence that says how to read it. Subclasses add what is around it.
export class PlotTab {
  constructor(study, name, text) {
    this.study = study;
    this.name = name;
    this.holder = h("div", { class: "plot-holder" }, loading("Drawing"));
    this.element = h("div", { class: "part" }, h("p", { class: "plot-text" }, text),
      this.controls(), this.holder);
    this.refresh = oneAtATime(() => this.load());
  }

  controls() {
    return null;
  }

  /// Returns the part of the address behind the plot's name.
  search() {
    return "";
  }

  update() {
    const wanted = `${this.study.study.updated_at_ns}${this.search()}`;
    if (wanted !== this.wanted) {
      this.wanted = wanted;
      this.refresh();
    }
    if (this.plot && this.plot.selected !== this.study.selected) {
      this.plot.select(this.study.selected);
    }
  }

  async load() {
    const { study } = this;
    try {
      this.show(await getText(study.path(`/plots/${this.name}${this.search()}`),
        { signal: study.abort.signal }));
    } catch (error) {
      if (study.abort.signal.aborted) return;
      this.plot = null;
      replace(this.holder, troubleOf(error, study, () => this.refresh()));
    }
  }

  show(text) {
    if (this.plot) return this.plot.show(text);
    const { study } = this;
    this.plot = plot(text, {
      filename: `${study.name}-${this.name}.svg`,
      selected: study.selected,
      hint: (number) => trialHint(study, number),
      onselect: (trial) => study.select(trial),
      ondraw: (drawn) => this.drawn(drawn),
    });
    replace(this.holder, this.plot);
  }

  drawn() {}
}

/// Returns an empty state for a study of which the daemon cannot say it yet, else an error state.
export function troubleOf(error, study, retry) {
  if (error.status !== 409 && error.status !== 400) return failed(error, retry);
  const isRunning = study.study.state === "running";
  return empty("There is nothing to show.", [
    h("p", null, "The daemon says: ", h("bdi", null, error.message), "."),
    h("p", null, isRunning ? "This appears by itself once enough trials have completed."
      : "It takes more completed trials than this study has.")]);
}

export class ContourTab extends PlotTab {
  constructor(study) {
    super(study, "contour", "What the model expects over two parameters, with the others as " +
      "recommended. Dots are trials (red: failed), the cross is the recommendation.");
  }

  controls() {
    const parameters = parametersOf(this.study.study).map(({ name }) => name);
    const field = (key, label) => {
      const select = h("select", { onchange: () => setQuery({ [key]: select.value || null }) },
        h("option", { value: "" }, "most important"),
        parameters.map((name) => h("option", { value: name }, name)));
      this[key] = select;
      return h("label", { class: "inline-field" }, label, " ", select);
    };
    return h("div", { class: "controls" }, field("x", "Across"), field("y", "Up"));
  }

  update() {
    for (const key of ["x", "y"]) this[key].value = this.study.query.get(key) ?? "";
    super.update();
  }

  search() {
    const { query } = this.study;
    const chosen = new URLSearchParams();
    for (const key of ["x", "y"]) if (query.get(key)) chosen.set(key, query.get(key));
    return chosen.size > 0 ? `?${chosen}` : "";
  }
}

export class FrontTab extends PlotTab {
  constructor(study) {
    super(study, "front", "Two objectives of each trial. The line joins the settings that no " +
      "other beats in both.");
    this.list = h("div", { class: "part" });
    this.element.append(this.list);
  }

  update() {
    super.update();
    const front = this.study.study.result?.front ?? [];
    if (front.length === 0) {
      replace(this.list, h("p", { class: "muted" },
        "The front is confirmed and listed when the search has ended."));
    } else if (this.table) {
      this.table.update(front);
    } else {
      this.table = frontTable(this.study, front);
      replace(this.list, this.table);
    }
  }
}

function frontTable(study, front) {
  const [first, ...others] = study.objectives;
  const before = study.study.result.default;
  const states = {
    confirmed: (point) => badge(`confirmed in ${point.runs} runs`, "good"),
    unconfirmed: () => badge("not confirmed", "warning"),
    searched: () => badge("measured once", ""),
  };
  const column = (objective, value, spread, base) => ({
    name: objective.label, numeric: true, sort: value,
    text: (point) => `${measuredText({ value: value(point), spread: spread(point) }, objective)}` +
      ` (${changeText(base, value(point))})`,
    hint: "in brackets the change against the default",
  });
  return table({
    caption: "The front: what no other setting beats in all objectives", rows: front, cards: true,
    key: (point) => point.number,
    link: (point) => trialHref(point.number),
    mark: (point) => (point.number === study.selected ? "selected" : null),
    columns: [
      { name: "Trial", text: (point) => point.number, sort: (point) => point.number },
      column(first, (point) => point.value, (point) => point.spread, before.value),
      ...others.map((objective, i) => column(objective, (point) => point.others?.[i],
        (point) => point.other_spreads?.[i], before.others?.[i])),
      { name: "Measured again", text: (point) => `${point.state} ${point.runs}`,
        node: (point) => (states[point.state] ?? states.searched)(point) },
      { name: "Setting", text: (point) => paramsText(point.params), class: "long",
        node: (point) => h("code", null, paramsText(point.params)) },
    ],
  });
}

function changeText(before, after) {
  if (!before || typeof after !== "number") return "–";
  const change = (after - before) / Math.abs(before);
  return (change > 0 ? "+" : "") + percentText(change);
}

/// A plot above a table of the same figures; subclasses fill `list` in addTable().
export class TabledPlotTab extends PlotTab {
  constructor(study, name, text) {
    super(study, name, text);
    this.list = h("div", { class: "part" });
    this.element.append(this.list);
  }

  update() {
    super.update();
    this.addTable();
  }
}

export class PredictedTab extends TabledPlotTab {
  constructor(study) {
    super(study, "calibration", "Each trial, predicted by the model that was fitted to all " +
      "others. Nine in ten measurements should lie within their interval.");
  }

  async addTable() {
    const { study } = this;
    const explanation = await study.explanation().catch(() => null);
    const calibration = explanation?.calibration;
    if (!calibration) return replace(this.list);
    const text = (value) => valueText(value, explanation.unit);
    const isInside = ({ low, high, measured }) => low <= measured && measured <= high;
    replace(this.list,
      h("p", null, h("strong", null, percentText(calibration.coverage)), " of measurements are ",
        "within the 90 % interval. The rank correlation of predicted and measured is ",
        h("strong", null, calibration.rank_correlation.toFixed(2)),
        " (1: the order is right, 0: the model knows nothing of it)."),
      table({
        caption: "Predictions", rows: calibration.trials, key: (trial) => trial.number,
        link: (trial) => trialHref(trial.number),
        mark: (trial) => (trial.number === study.selected ? "selected" : null),
        columns: [
          { name: "Trial", text: (trial) => trial.number, sort: (trial) => trial.number },
          { name: "Measured", text: (trial) => text(trial.measured), numeric: true,
            sort: (trial) => trial.measured },
          { name: "Predicted", text: (trial) => text(trial.expected), numeric: true,
            sort: (trial) => trial.expected },
          { name: "90 % interval", text: (trial) => `${text(trial.low)} to ${text(trial.high)}` },
          { name: "Measured is", text: (trial) => (isInside(trial) ? "inside" : "outside"),
            sort: (trial) => (isInside(trial) ? 1 : 0),
            node: (trial) => isInside(trial) ? "inside" : badge("outside", "warning") },
        ],
      }));
  }
}
