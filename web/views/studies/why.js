// The search's findings: which parameters matter, what it recommends, why it ran each trial, and
// what it made of the simulator's constants.

import { h, replace } from "../../dom.js";
import { facts, longText } from "../../elements.js";
import { countText, percentText, valueText } from "../../format.js";
import { loading } from "../../states.js";
import { table } from "../../table.js";
import { TabledPlotTab, troubleOf } from "./plots.js";
import { paramsText, settingText } from "./data.js";
import { bar, stateNode } from "../parts.js";
import { longColumn, trialHref } from "./trials.js";

export class ImportanceTab extends TabledPlotTab {
  constructor(study) {
    super(study, "importance", "How much of the model's variation over the space is due to each " +
      "parameter: alone, and together with others.");
  }

  async addTable() {
    const explanation = await this.study.explanation().catch(() => null);
    if (!explanation) return replace(this.list);
    const share = (value) => [h("span", { class: "bar-text" }, percentText(value)),
      bar(value, "accent")];
    replace(this.list, variation(explanation), table({
      caption: "Importance of the parameters", rows: explanation.importance,
      key: (each) => each.parameter,
      columns: [
        { name: "Parameter", text: (each) => each.parameter, sort: (each) => each.parameter },
        { name: "Alone", text: (each) => percentText(each.alone), node: (each) =>
          share(each.alone), sort: (each) => each.alone, numeric: true,
        hint: "share of the variance that would disappear if the parameter were fixed" },
        { name: "With others", text: (each) => percentText(each.total), node: (each) =>
          share(each.total), sort: (each) => each.total, numeric: true,
        hint: "share that would remain if all other parameters were fixed" },
      ],
    }));
  }
}

function variation(explanation) {
  const size = explanation.variation_is_relative
    ? percentText(explanation.variation) : valueText(explanation.variation, explanation.unit);
  if (!(explanation.variation > 0)) return h("p", null, "No parameter shows an effect.");
  return h("p", null, "Over the space the model varies by ", h("strong", null, size),
    " (standard deviation). Shares say nothing of the size of an effect; this does.");
}

export class WhyTab {
  constructor(study) {
    this.study = study;
    this.element = h("div", { class: "part why" },
      loading("Running the search again for its reasons"));
  }

  async update() {
    const { study } = this;
    try {
      const explanation = await study.explanation();
      if (explanation === this.explanation) {
        this.reasons?.update(explanation.trials);
        return;
      }
      this.explanation = explanation;
      this.show(explanation);
    } catch (error) {
      if (study.abort.signal.aborted) return;
      this.explanation = null;
      replace(this.element, troubleOf(error, study, () => {
        study.explained = null;
        this.update();
      }));
    }
  }

  show(explanation) {
    this.reasons = reasonTable(this.study, explanation);
    replace(this.element, recommendation(explanation), rejected(explanation), this.reasons,
      simulator(explanation.simulator));
  }
}

function recommendation(explanation) {
  const { recommended, unit } = explanation;
  const modelled = explanation.modelled < explanation.completed
    ? `, fitted to ${countText(explanation.modelled)} of them` : "";
  return h("section", { class: "panel" }, h("h2", null, "What the model recommends"),
    h("ul", { class: "settings-list" }, Object.entries(recommended.params).map(([name, value]) =>
      h("li", null, h("span", { class: "muted" }, h("bdi", null, name)), " ",
        h("strong", null, settingText(name, value))))),
    facts([
      ["Expected", `${valueText(recommended.expected, unit)} ± ` +
        valueText(recommended.deviation, unit)],
      ["Because", longText(recommended.reason)],
      ["Model", explanation.model],
      ["Trials", `${countText(explanation.completed)} completed, ` +
        `${countText(explanation.failed)} failed${modelled}`],
      explanation.other_objectives?.length > 0 && ["Not explained",
        longText(`the further objectives ${explanation.other_objectives.join(", ")}`)],
    ]));
}

function rejected(explanation) {
  if (explanation.failed === 0) return null;
  return h("p", null, h("strong", null, percentText(explanation.rejected)), " of the space is " +
    "avoided: judging by the failed trials, one there completes with a probability below 70 %.");
}

function reasonTable(study, explanation) {
  return table({
    caption: "Why each trial was run", rows: explanation.trials, cards: true,
    key: (trial) => trial.number,
    link: (trial) => trialHref(trial.number),
    mark: (trial) => (trial.number === study.selected ? "selected" : null),
    columns: [
      { name: "Trial", text: (trial) => trial.number, sort: (trial) => trial.number },
      { name: study.objectives[0].label, numeric: true, sort: (trial) => trial.value,
        text: (trial) => trial.value === null ? "failed" : valueText(trial.value, explanation.unit),
        node: (trial) => trial.value === null ? stateNode("failed")
          : valueText(trial.value, explanation.unit) },
      longColumn("Why", (trial) => trial.reason ?? "–"),
      { name: "Setting", text: (trial) => paramsText(trial.params), class: "long",
        node: (trial) => h("code", null, paramsText(trial.params)) },
    ],
  });
}

function simulator(calibration) {
  if (!calibration) {
    return h("p", { class: "muted" }, "The search did not use the simulator, so there are no " +
      "constants that it calibrated.");
  }
  const rows = [...calibration.constants.map(constantRow),
    { name: "noise between trials", before: percentText(calibration.expected_noise),
      after: percentText(calibration.noise), learned: "" },
    { name: "what the simulator gets wrong", learned: "",
      before: percentText(calibration.expected_discrepancy),
      after: percentText(calibration.discrepancy) }];
  return h("section", { class: "part" }, h("h2", null, "The simulator, calibrated on the trials"),
    h("p", { class: "plot-text" }, "In brackets one standard deviation to either side. A factor " +
      "(×) multiplies the value in the description of the step."),
    table({
      caption: "Constants of the simulator", rows, key: (row) => row.name, cards: true,
      columns: [
        { name: "Constant", text: (row) => row.name },
        { name: "Before the trials", text: (row) => row.before, numeric: true },
        { name: "After them", text: (row) => row.after, numeric: true },
        { name: "Learned", text: (row) => row.learned },
      ],
    }));
}

function constantRow(constant) {
  const text = (mean, deviation) => {
    const shown = (value) => Number((constant.is_factor ? Math.exp(value) : value).toPrecision(3));
    return `${constant.is_factor ? "× " : ""}${shown(mean)} ` +
      `(${shown(mean - deviation)} to ${shown(mean + deviation)})`;
  };
  return {
    name: constant.meaning,
    before: text(constant.expected, constant.expected_deviation),
    after: text(constant.calibrated, constant.deviation),
    learned: learnedText(constant),
  };
}

/// Says how far a constant moved, in the words of `hocket explain`.
function learnedText({ expected, expected_deviation: scale, calibrated, deviation }) {
  const moved = (calibrated - expected) / scale;
  const way = moved > 0 ? "higher" : "lower";
  if (Math.abs(moved) >= 2) return `much ${way} than expected`;
  if (Math.abs(moved) >= 0.5) return `${way} than expected`;
  return deviation > 0.8 * scale ? "little learned" : "as expected";
}
