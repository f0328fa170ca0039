// The table of a study's trials.

import { h, replace } from "../../dom.js";
import { longText } from "../../elements.js";
import { printable } from "../../format.js";
import { current, go, href, setQuery } from "../../router.js";
import { empty } from "../../states.js";
import { table } from "../../table.js";
import {
  durationOf, measuredText, paramsText, parametersOf, settingText, trialDuration,
} from "./data.js";
import { sortIn, sortQuery, stateNode } from "../parts.js";

/// With more parameters than this, one column has all of them.
const mostColumns = 6;

/// Returns a table of trials of `study`, a Study. options: caption, sort, onsort, reasons: a Map of
/// the reasons of trials by number, or null.
export function trialTable(study, rows, options) {
  const element = table({
    caption: options.caption, rows, cards: true, limit: 200,
    columns: columnsOf(study, options.reasons),
    key: (trial) => trial.number,
    link: (trial) => trialHref(trial.number),
    mark: (trial) => (trial.number === study.selected ? "selected" : null),
    sort: options.sort, onsort: options.onsort,
  });
  element.addEventListener("click", chooseRow);
  return element;
}

/// A click anywhere in a row selects its trial. Selections make no entries in the history.
function chooseRow(event) {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  const link = event.target.closest("tbody tr")?.querySelector("th a");
  if (!link || !isPlain || event.defaultPrevented) return;
  const other = event.target.closest("a, button, input");
  if ((other && other !== link) || (!other && getSelection().toString() !== "")) return;
  event.preventDefault();
  go(link.getAttribute("href"), { replace: true });
}

export function trialHref(number) {
  const { path, query } = current();
  return href(path, { ...Object.fromEntries(query), trial: String(number) });
}

function columnsOf(study, reasons) {
  const objective = study.objectives[0];
  return [
    { name: "Trial", text: (trial) => trial.number, sort: (trial) => trial.number },
    { name: "Phase", text: (trial) => trial.phase, sort: (trial) => trial.phase },
    { name: "Status", text: (trial) => trial.status, sort: (trial) => trial.status,
      node: (trial) => stateNode(trial.status) },
    { name: objective.label, text: (trial) => measuredText(trial, objective), numeric: true,
      hint: "median ± half the interquartile range", sort: (trial) => trial.value,
      class: "numeric" },
    ...parameterColumns(study),
    { name: "Duration", text: durationOf, sort: trialDuration, numeric: true },
    reasons && briefColumn("Why it was run", (trial) => reasons.get(trial.number) ?? ""),
    hasMessages(study) && briefColumn("Message", (trial) => trial.message),
  ].filter(Boolean);
}

function hasMessages(study) {
  return study.trials.some((trial) => trial.message);
}

/// Returns a column of text of which a row shows two lines; a trial's panel has all of it.
function briefColumn(name, text) {
  return { name, text, class: "brief", node: (row) => (text(row)
    ? h("bdi", { class: "text clamp", title: printable(text(row)) }, printable(text(row))) : "") };
}

/// Returns a column of text that others wrote; a long one is shown in part.
export function longColumn(name, text) {
  return { name, text, class: "long", node: (row) => (text(row) ? longText(text(row)) : "") };
}

function parameterColumns(study) {
  const parameters = parametersOf(study.study);
  if (parameters.length === 0 || parameters.length > mostColumns) {
    return [{ name: "Parameters", text: (trial) => paramsText(trial.params), class: "brief wide",
      node: (trial) => h("code", { class: "clamp", title: paramsText(trial.params) },
                         paramsText(trial.params)) }];
  }
  return parameters.map(({ name, choices }) => ({
    name, numeric: !choices, text: (trial) => settingText(name, trial.params[name]),
    sort: (trial) => trial.params[name],
  }));
}

export class TrialsTab {
  constructor(study) {
    this.study = study;
    this.element = h("div", { class: "trials" });
  }

  update() {
    const { study } = this;
    if (study.trials.length === 0) {
      this.table = null;
      replace(this.element, empty("No trial has begun yet.",
        "Trials appear here as the study runs; the page keeps itself up to date."));
      return;
    }
    // The first message adds a column.
    if (!this.table) this.make(null);
    else if (hasMessages(study) !== this.withMessages) this.keepPlace(() => this.make(this.reasons));
    else this.table.update(study.trials);
    this.addReasons();
  }

  make(reasons) {
    this.reasons = reasons;
    this.withMessages = hasMessages(this.study);
    this.table = trialTable(this.study, this.study.trials, {
      caption: "Trials", reasons,
      sort: sortIn(this.study.query) ?? { column: "Trial", descending: false },
      onsort: (sort) => setQuery(sortQuery(sort), { replace: true }),
    });
    replace(this.element, this.table);
  }

  /// Fills in why each trial was run, once the daemon has run the search again to know it.
  async addReasons() {
    const explanation = await this.study.explanation().catch(() => null);
    if (!explanation || explanation === this.explanation) return;
    this.explanation = explanation;
    const known = explanation.trials.filter((trial) => trial.reason);
    if (known.length === 0 || !this.table) return;
    if (this.reasons) {
      for (const trial of known) this.reasons.set(trial.number, trial.reason);
      this.table.update(this.study.trials);
    } else {
      this.keepPlace(() => this.make(new Map(known.map(({ number, reason }) => [number, reason]))));
    }
  }

  /// Runs `make`, which makes the table anew, and gives the link that had the focus it again.
  keepPlace(make) {
    const focused = this.element.contains(document.activeElement)
      ? document.activeElement.getAttribute("href") : null;
    const left = this.element.querySelector(".table-scroll")?.scrollLeft ?? 0;
    make();
    const scroll = this.element.querySelector(".table-scroll");
    if (scroll) scroll.scrollLeft = left;
    if (!focused) return;
    [...this.element.querySelectorAll("a")]
      .find((link) => link.getAttribute("href") === focused)?.focus();
  }
}
