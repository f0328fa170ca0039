// The list of studies.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { agoText, dateText } from "../../format.js";
import { href, setQuery } from "../../router.js";
import { empty, failed, loading } from "../../states.js";
import { table } from "../../table.js";
import { oneAtATime } from "../refresh.js";
import { gainText, measuredText, objectivesOf, originText } from "./data.js";
import { commandNode, sortIn, sortQuery, stateNode } from "../parts.js";

const columns = [
  { name: "Study", text: (study) => study.study, sort: (study) => study.study },
  { name: "State", text: (study) => study.state, sort: (study) => study.state,
    node: (study) => stateNode(study.state) },
  { name: "Best", text: bestText, numeric: true },
  { name: "Gain", text: gainWord, numeric: true,
    sort: (study) => study.result?.gain ?? -Infinity, node: gainNode },
  { name: "Objective", text: (study) => objectivesOf(study).map((each) => each.label).join(", "),
    sort: (study) => objectivesOf(study)[0].label },
  { name: "Run by", text: (study) => originText[study.origin] ?? study.origin,
    sort: (study) => study.origin },
  { name: "Command", text: (study) => study.command.join(" "), node: (study) =>
    commandNode(study.command), sort: (study) => study.command.join(" ") },
  { name: "Last change", text: whenText, sort: (study) => study.updated_at_ns, node: whenNode },
];

function bestText(study) {
  return study.result ? measuredText(study.result.best, objectivesOf(study)[0]) : "–";
}

function gainWord(study) {
  const { result } = study;
  if (!result) return "–";
  if (result.front?.length) return `front of ${result.front.length}`;
  if (result.best.value === null) return "no result";
  return result.promoted ? gainText(result) : "default stays";
}

function gainNode(study) {
  const { result } = study;
  return h("span", { class: result?.promoted ? "good" : "muted", title: result?.reason },
    gainWord(study));
}

function whenText(study) {
  return agoText(Date.now() * 1e6 - study.updated_at_ns);
}

function whenNode(study) {
  return h("time", { title: dateText(study.updated_at_ns) }, whenText(study));
}

export class StudyList {
  name = "";

  constructor() {
    this.query = new URLSearchParams();
    this.body = h("div", { class: "view-body" }, loading("Loading the studies"));
    this.element = h("div", { class: "part" }, h("h1", null, "Studies"), this.body);
    this.refresh = oneAtATime(() => this.load());
    this.abort = new AbortController();
  }

  close() {
    this.abort.abort();
  }

  route(query) {
    this.query = query;
    if (this.studies) this.show();
  }

  async load() {
    try {
      this.studies = (await get("/v1/studies", { signal: this.abort.signal })).studies;
    } catch (error) {
      // The old content stays; the shell says that the daemon does not answer.
      if (this.abort.signal.aborted || this.studies) return;
      replace(this.body, failed(error, () => this.refresh()));
      return;
    }
    this.show();
  }

  show() {
    if (this.studies.length === 0) {
      this.table = null;
      replace(this.body, empty("There is no study yet.",
        [h("p", null, "A study tries settings of a command and keeps the best. Start one with:"),
          h("p", null, h("code", null, "hocket tune --param NAME=int:1..64 --objective " +
            "'regex:step_ms=([0-9.]+)' -- COMMAND"))]));
      return;
    }
    const rows = [...this.studies].sort((a, b) => b.updated_at_ns - a.updated_at_ns);
    if (this.table) return this.table.update(rows);
    this.table = table({
      caption: "Studies of the store", columns, rows, cards: true,
      key: (study) => study.study,
      link: (study) => href(["studies", study.study]),
      sort: sortIn(this.query),
      onsort: (sort) => setQuery(sortQuery(sort), { replace: true }),
    });
    replace(this.body, this.table);
  }
}
