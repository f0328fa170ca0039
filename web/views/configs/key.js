// One key: its current configuration, its versions, the difference of two, and its audit.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { badge, longText, nameElement, shortName } from "../../elements.js";
import { isSame, shortKey } from "../../format.js";
import { href } from "../../router.js";
import { empty } from "../../states.js";
import { keyTools } from "./actions.js";
import { auditTable } from "./audit.js";
import { keyStates } from "./list.js";
import { knobs, configTable } from "./settings.js";
import { chosenPair, currentOf, VersionDiff, versionsTable } from "./versions.js";

const AUDIT_ENTRIES = 100;

export class KeyPage {
  element = h("div", { class: "view-part" });
  title;
  #key;
  #pair = null;
  #parts = null;
  #data = null;
  #shown = {};

  constructor(key) {
    this.#key = key;
    this.title = shortKey(key);
  }

  set route({ query }) {
    this.#pair = query.get("diff");
    if (this.#data) this.#showDifference();
  }

  async load() {
    const key = encodeURIComponent(this.#key);
    const [{ configs }, { jobs }, known, { entries }] = await Promise.all([
      get("/v1/configs"), get("/v1/jobs"), knobs(),
      get(`/v1/audit?limit=${AUDIT_ENTRIES}&subject=${key}`)]);
    const config = configs.find((one) => one.key === this.#key);
    const running = jobs.filter((job) => job.key === this.#key);
    // An unknown key would be answered by an error.
    if (!config && running.length === 0)
      return { config: null, versions: [], entries, running, known };
    const { versions } = await get(`/v1/configs/${key}/versions`);
    return { config: config ?? { key: this.#key, workload: running[0].workload,
                                 topology: running[0].topology },
             versions, entries, running, known };
  }

  update(data) {
    this.#data = data;
    if (!data.config) {
      replace(this.element, this.#breadcrumb(), h("h1", null, "Key ", nameElement(this.#key)),
              empty("No key of this name has a configuration.", "The address may be cut off, or " +
                    "of another store. The list of configurations has all keys."));
      this.#parts = null;
      return;
    }
    if (!this.#parts) this.#build();
    const { config, versions, entries, running, known } = data, parts = this.#parts;
    const on = { key: this.#key, name: shortName(config.workload || shortKey(this.#key)) };
    this.title = on.name;
    parts.tools.update({ ...on, version: config.version ?? 0, pinned: Boolean(config.pinned),
                         frozen: Boolean(config.frozen) });
    this.#once("head", [config, running.map((job) => [job.job, job.name])],
               () => this.#showHead(config, running));
    this.#once("versions", versions, () => {
      this.#showCurrent(versions, known);
      replace(parts.versions, versions.length > 0 ? versionsTable(versions, on, known)
        : empty("This key has no version yet: jobs start with their own default.",
                "A study or live tuning promotes one, or push one."));
    });
    this.#showDifference();
    this.#once("audit", [entries.length, entries.at(-1)?.id], () => replace(parts.audit,
      entries.length > 0
        ? auditTable(entries, known, { isOfOne: true, caption: "Audit of this key" })
        : h("p", { class: "hint" }, "No entry is about this key."),
      entries.length >= AUDIT_ENTRIES && h("p", { class: "more" },
        h("a", { href: href(["configs", "audit"], { subject: this.#key, limit: 1000 }) },
          "Older entries"))));
  }

  #breadcrumb() {
    return h("p", { class: "breadcrumb" },
             h("a", { href: href(["configs"]) }, "All configurations"));
  }

  #build() {
    const parts = { head: h("div"), tools: keyTools(), stopped: h("div", { hidden: true }),
                    current: h("section", { class: "panel" }), versions: h("section"),
                    diff: new VersionDiff(), audit: h("section") };
    this.#parts = parts;
    this.#shown = {};
    replace(this.element, this.#breadcrumb(),
            h("div", { class: "view-head" }, parts.head, parts.tools), parts.stopped,
            h("h2", { class: "visually-hidden" }, "Versions"), parts.versions,
            h("div", { class: "columns" }, parts.current, parts.diff.element),
            h("h2", { class: "visually-hidden" }, "Audit"), parts.audit);
  }

  #showHead(config, running) {
    const states = keyStates(config).map(([text, kind]) => [" ", badge(text, kind)]);
    const jobs = running.slice(0, 5).map((job, index) => [index > 0 && ", ",
      h("a", { href: href(["jobs", job.job]) }, nameElement(job.name || job.job))]);
    replace(this.#parts.head, h("h1", null, nameElement(config.workload, shortKey(this.#key))),
      h("p", { class: "lead" }, nameElement(config.topology), states),
      config.program && h("p", { class: "lead" }, nameElement(config.program)),
      h("p", { class: "lead" }, "Running: ", jobs.length > 0 ? jobs : "no job",
        running.length > 5 && ` and ${running.length - 5} more`),
      h("p", { class: "hint mono" }, this.#key));
    this.#parts.stopped.hidden = !config.tuning_stopped;
    if (config.tuning_stopped)
      replace(this.#parts.stopped, h("div", { class: "notice bad" },
        h("p", null, h("strong", null, "Tuning stopped: "), longText(config.tuning_stopped)),
        h("p", null, "Running jobs keep what they have until the daemon starts again.")));
  }

  #showCurrent(versions, known) {
    const number = currentOf(versions);
    const config = versions.find((one) => one.version === number)?.config;
    const isDefault = !config || Object.keys(config).length === 0;
    const why = number > 0 ? `Version ${number} has no values` : "None";
    replace(this.#parts.current, h("h2", null, "Current configuration"),
            isDefault ? h("p", null, `${why}: each job takes its own default.`)
                      : configTable({ caption: `Version ${number}`, config, known }));
  }

  #showDifference() {
    const { versions, known, config } = this.#data;
    if (!config || !this.#parts) return;
    this.#parts.diff.element.hidden = versions.length === 0;
    if (versions.length > 0)
      this.#parts.diff.update(versions, chosenPair(this.#pair, versions), known);
  }

  #once(name, value, draw) {
    if (isSame(this.#shown[name], value)) return;
    this.#shown[name] = value;
    draw();
  }
}
