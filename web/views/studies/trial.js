// The selected trial of a study: its number is in the address, and what is known of it in a panel
// below whatever tab is shown.

import { h, replace } from "../../dom.js";
import { facts, longText, nameElement } from "../../elements.js";
import { dateText, valueText } from "../../format.js";
import { durationOf, measuredText, settingText } from "./data.js";
import { stateNode } from "../parts.js";

/// Returns the number of the selected trial, or null.
export function selectedTrial(query) {
  const text = query.get("trial") ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export class TrialPanel {
  constructor(study) {
    this.study = study;
    this.element = h("section", { class: "trial-panel", "aria-label": "Selected trial",
      hidden: true });
  }

  async update() {
    const { study } = this;
    const trial = study.trials.find((each) => each.number === study.selected);
    this.element.hidden = !trial;
    if (!trial) {
      this.shown = "";
      return;
    }
    this.show(trial, null);
    const explanation = await study.explanation().catch(() => null);
    const reason = explanation?.trials?.find((each) => each.number === trial.number)?.reason;
    if (reason && study.selected === trial.number) this.show(trial, reason);
  }

  show(trial, reason) {
    // The panel is left alone while it says the same, so that text in it stays selected.
    const said = JSON.stringify([trial, reason]);
    if (said === this.shown) return;
    this.shown = said;
    const { study } = this;
    const focused = this.element.contains(document.activeElement)
      ? document.activeElement.getAttribute("aria-label") : null;
    const phase = trial.phase === "confirm" ? "run to confirm the winner" : "search";
    replace(this.element,
      h("div", { class: "panel-head" },
        h("h2", null, `Trial ${trial.number} `, stateNode(trial.status)), this.buttons(trial)),
      facts([
        ["Value", measuredText(trial, study.objectives[0])],
        ["Phase", phase],
        ["Duration", durationOf(trial)],
        ["Started", dateText(trial.started_at_ns)],
        trial.worker && ["Worker", nameElement(trial.worker)],
        reason && ["Why it was run", longText(reason)],
        trial.message && ["Message", longText(trial.message, 160)],
      ]),
      h("ul", { class: "settings-list" }, Object.entries(trial.params).map(([name, value]) =>
        h("li", null, h("span", { class: "muted" }, h("bdi", null, name)), " ",
          h("strong", { title: String(value).slice(0, 1000) }, settingText(name, value))))));
    if (focused) this.focusAgain(focused);
  }

  /// The buttons were made anew; the focus stays on the one that has it, or the next one to it.
  focusAgain(label) {
    const buttons = [...this.element.querySelectorAll("button:not(:disabled)")];
    (buttons.find((button) => button.getAttribute("aria-label") === label) ?? buttons[0])?.focus();
  }

  buttons(trial) {
    const { study } = this;
    const numbers = study.trials.map((each) => each.number).sort((a, b) => a - b);
    const at = numbers.indexOf(trial.number);
    const button = (text, label, number, isOff) => h("button", {
      type: "button", "aria-label": label, title: label, disabled: isOff, class: "small",
      onclick: () => this.step(number),
    }, text);
    return h("div", { class: "buttons" },
      button("‹", "Previous trial", numbers[at - 1], at === 0),
      button("›", "Next trial", numbers[at + 1], at === numbers.length - 1),
      button("Deselect", "Deselect this trial", null, false));
  }

  step(number) {
    this.study.select(number);
    if (number === null) this.study.element.querySelector(".tab[aria-current]")?.focus();
  }
}

/// Returns text for a trial's tooltip where the drawing has none.
export function trialHint(study, number) {
  const trial = study.trials.find((each) => each.number === number);
  if (!trial) return `trial ${number}`;
  const value = trial.status === "complete"
    ? valueText(trial.value, study.objectives[0].unit) : trial.status;
  const settings = Object.entries(trial.params)
    .map(([name, setting]) => `${name}=${settingText(name, setting)}`).join(", ");
  return `trial ${number}: ${value}, ${settings}`;
}
