// All jobs that run, reachable ones first.

import { h, reconcile, replace, setText } from "../../dom.js";
import { nameElement, sinceElement } from "../../elements.js";
import { countedText, countText, shortKey } from "../../format.js";
import { href, setQuery } from "../../router.js";
import { empty } from "../../states.js";
import { serves } from "../../api.js";
import { jobCard } from "./card.js";

const SHOWN = 100, FILTERED_FROM = 6;

function matches(job, words) {
  const text = [job.name, job.job, job.host, job.workload, job.topology].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function nothing() {
  if (serves() === "store")
    return empty("This is a store without a daemon: no job reports to it.",
                 "Start `hocket serve` on the store to see jobs while they train.");
  return empty("No job is running.", [
    h("p", null, "Jobs that start with this address are shown here within a second:"),
    h("pre", null, `export HOCKET_DAEMON=${location.origin}\n` +
                   "hocket run --ranks 2 -- build/release/bin/gpt2 --steps 500 --watch " +
                   "--explore 3%")]);
}

/// Returns the newest change of any key, for the last line, as `hocket top` has it.
function lastPush(entries) {
  return entries?.filter((entry) => entry.action === "promote" && entry.detail?.version).pop();
}

export class JobList {
  element = h("div", { class: "view-part" });
  #count = h("p", { class: "lead" });
  #list = h("ul", { class: "jobs" });
  #none = h("div");
  #more = h("p", { class: "more" });
  #push = h("p", { class: "hint" });
  #filter;
  #search;
  #data = null;
  #find = "";

  constructor() {
    this.#filter = h("input", { type: "search", "aria-label": "Show jobs with", autocomplete: "off",
      placeholder: "name, host, workload", oninput: () => {
        setQuery({ find: this.#filter.value }, { replace: true });
      } });
    this.#search = h("label", { class: "search", hidden: true }, "Find ", this.#filter);
    replace(this.element, h("div", { class: "view-head" },
                            h("div", null, h("h1", null, "Jobs"), this.#count), this.#search),
            this.#none, this.#list, this.#more, this.#push);
  }

  set route({ query }) {
    this.#find = query.get("find") ?? "";
    if (this.#filter.value !== this.#find) this.#filter.value = this.#find;
    if (this.#data) this.update(this.#data);
  }

  /// data: {jobs, entries} of /v1/jobs and /v1/audit
  update(data) {
    this.#data = data;
    const { jobs, entries } = data;
    const words = this.#find.toLowerCase().split(/\s+/).filter(Boolean);
    const found = jobs.filter((job) => matches(job, words));
    const ordered = [...found.filter((job) => job.connected),
                     ...found.filter((job) => !job.connected)];
    this.#showCount(jobs, found);
    reconcile(this.#list, ordered.slice(0, SHOWN), (job) => job.job, jobCard,
              (card, job) => card.update(job));
    this.#list.hidden = found.length === 0;
    this.#showNone(jobs, found);
    setText(this.#more, ordered.length > SHOWN
      ? `and ${countText(ordered.length - SHOWN)} more; find one by a part of its name` : "");
    this.#more.hidden = ordered.length <= SHOWN;
    this.#showPush(entries);
  }

  #showCount(jobs, found) {
    const away = jobs.filter((job) => !job.connected).length;
    setText(this.#count, countedText(jobs.length, "job") + (away > 0 ? `, ${away} away` : "") +
                         (found.length < jobs.length ? `, ${found.length} shown` : ""));
    this.#count.hidden = jobs.length === 0;
    this.#search.hidden = jobs.length < FILTERED_FROM && this.#find === "";
  }

  #showNone(jobs, found) {
    const state = jobs.length === 0 ? "none" : found.length === 0 ? "unmatched" : "";
    if (this.#none.shown === state) return;
    this.#none.shown = state;
    replace(this.#none, state === "none" && nothing(),
            state === "unmatched" && empty("No job matches.", "Change or empty the field “Find”."));
  }

  #showPush(entries) {
    const entry = lastPush(entries);
    const id = entry ? `${entry.id} ${Math.floor(Date.now() / 60000)}` : String(entries?.length);
    if (this.#push.shown === id) return;
    this.#push.shown = id;
    if (!entry) {
      replace(this.#push, entries?.length > 0
        ? ["No version among the latest changes; all are in the ",
           h("a", { href: href(["configs", "audit"]) }, "audit")] : "Last push: none");
      return;
    }
    const { version, stage, origin, note } = entry.detail;
    replace(this.#push, "Last push: version ", String(version), " for ",
            h("a", { href: href(["configs", entry.subject]) }, shortKey(entry.subject)), " by ",
            nameElement(entry.actor), `, ${stage}, `, sinceElement(entry.at_ns), ` (${origin})`,
            note && [": ", nameElement(note)]);
  }
}
