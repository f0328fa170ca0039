// The audit: who changed what, and why.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { longText, nameElement, timeElement } from "../../elements.js";
import { configText, countText, dateText, isSame, knobText, shortKey } from "../../format.js";
import { href, setQuery } from "../../router.js";
import { empty } from "../../states.js";
import { table } from "../../table.js";
import { changeText, knobs } from "./settings.js";

const FIRST = 100, MOST = 10000;
const KEY = /^[0-9a-f-]{36}\.[0-9a-f-]{36}$/;

// Names of a detail in the order in which they are shown; others come in between.
const BEGIN = ["version", "origin", "from", "stage"], END = ["config", "note", "message", "reason"];

function placeOf(name) {
  return BEGIN.includes(name) ? BEGIN.indexOf(name) : BEGIN.length + 1 + END.indexOf(name);
}

function partText(name, value, known) {
  if (value === "" || value === null) return "";
  if (name === "config") return configText(value, known.defaults);
  if (name === "key") return `key ${shortKey(String(value))}`;
  if (name === "note" || name === "message" || name === "reason") return String(value);
  return `${name.replaceAll("_", " ")} ${knobText(name, value)}`;
}

/// Returns what an entry says, the change of the configuration first.
export function detailText({ detail }, known) {
  if (!detail || typeof detail !== "object") return JSON.stringify(detail ?? "");
  const { old, new: young, ...others } = detail;
  const parts = Object.entries(others).sort(([a], [b]) => placeOf(a) - placeOf(b))
    .map(([name, value]) => partText(name, value, known));
  if ("old" in detail && "new" in detail) parts.unshift(changeText(old, young, known));
  return parts.filter(Boolean).join("; ");
}

function subjectNode({ subject, action }) {
  if (KEY.test(subject)) return h("a", { href: href(["configs", subject]) }, shortKey(subject));
  if (action === "end_search" || action === "reopen_search")
    return h("a", { href: href(["studies", subject]) }, nameElement(subject));
  return nameElement(subject, "–");
}

/// Returns a table of entries, newest first. `isOfOne`: all have the same subject.
export function auditTable(entries, known, { isOfOne = false, caption = "Audit" } = {}) {
  const subject = { name: "Subject", text: (entry) => entry.subject, node: subjectNode,
                    sort: (entry) => entry.subject, class: "nowrap" };
  return table({
    caption, rows: [...entries].reverse(), key: (entry) => entry.id, cards: true,
    columns: [
      { name: "When", text: (entry) => dateText(entry.at_ns), sort: (entry) => entry.id,
        node: (entry) => timeElement(entry.at_ns), class: "nowrap" },
      { name: "Who", text: (entry) => entry.actor, sort: (entry) => entry.actor, class: "medium",
        node: (entry) => nameElement(entry.actor, "–") },
      { name: "What", text: (entry) => entry.action, sort: (entry) => entry.action },
      ...(isOfOne ? [] : [subject]),
      { name: "Detail", text: (entry) => detailText(entry, known), class: "wide",
        node: (entry) => longText(detailText(entry, known)) },
    ],
  });
}

/// The audit of everything: #/configs/audit?subject=…&limit=…
export class AuditPage {
  element = h("div", { class: "view-part" });
  title = "Audit";
  #subject = "";
  #limit = FIRST;
  #shown = null;
  #list = h("div");
  #input;

  constructor() {
    this.#input = h("input", { type: "text", autocomplete: "off", size: 36, name: "subject" });
    const form = h("form", { class: "tools", onsubmit: (event) => {
      event.preventDefault();
      setQuery({ subject: this.#input.value.trim() || null });
    } }, h("label", { class: "search" }, "Key or study ", this.#input),
      h("button", { type: "submit" }, "Show"));
    replace(this.element,
      h("p", { class: "breadcrumb" }, h("a", { href: href(["configs"]) }, "All configurations")),
      h("div", { class: "view-head" }, h("div", null, h("h1", null, "Audit"),
        h("p", { class: "lead" }, "Who changed which configuration or study, and why.")), form),
      this.#list);
  }

  set route({ query }) {
    this.#subject = query.get("subject") ?? "";
    this.#input.value = this.#subject;
    const limit = Number(query.get("limit") ?? FIRST);
    this.#limit = Number.isInteger(limit) && limit > 0 ? Math.min(limit, MOST) : FIRST;
  }

  async load() {
    const subject = this.#subject ? `&subject=${encodeURIComponent(this.#subject)}` : "";
    const [{ entries }, known] = await Promise.all([
      get(`/v1/audit?limit=${this.#limit}${subject}`), knobs()]);
    return { entries, known };
  }

  update({ entries, known }) {
    const shown = [entries.length, entries.at(-1)?.id, this.#subject, this.#limit];
    if (isSame(shown, this.#shown)) return;
    this.#shown = shown;
    if (entries.length === 0) {
      replace(this.#list, this.#subject
        ? empty("No entry is about this key or study.", "Give a key or a study's name in full.")
        : empty("Nothing has been changed yet.",
                "Studies, live tuning and operators leave entries."));
      return;
    }
    const isAll = entries.length < this.#limit || this.#limit >= MOST;
    replace(this.#list, auditTable(entries, known, {
      caption: isAll ? "All entries" : `The newest ${countText(entries.length)} entries` }),
      !isAll && h("p", { class: "more" }, h("button", { type: "button", onclick: () =>
        setQuery({ limit: Math.min(this.#limit * 10, MOST) }) }, "Show more")));
  }
}
