// One job: what runs, what is tried against it, and the verdicts so far.

import { h, reconcile, replace, setText } from "../../dom.js";
import { facts, longText, meter, nameElement, shortName } from "../../elements.js";
import { agoText, bytesText, countText, countedText, isSame, numberText, percentText, printable,
         shortKey } from "../../format.js";
import { href } from "../../router.js";
import { empty } from "../../states.js";
import { keyTools } from "../configs/actions.js";
import { configTable, settingsTable } from "../configs/settings.js";
import { budgetShare, budgetText, busyBars, exposedShare, fact, iterationText, jobState,
         measuredText, originText, subjectText, verdictBadge, versionText } from "./parts.js";
import { otherValues, placementFacts } from "./placement.js";
import { strip } from "./strip.js";

/// Returns a value that the job measured itself; its name ends in the unit.
function measuredValue(name, value) {
  if (name.endsWith("_ns")) return `${numberText(value / 1e6)} ms`;
  return name.endsWith("_bytes") ? bytesText(value) : numberText(value);
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/// Returns why a job that may try candidates tries none now, by the state of its key's tuning.
function untriedText(tuning) {
  return {
    waiting: "Its search begins once the key is neither pinned nor frozen and no version is tried.",
    measuring: "The times of the current configuration are being measured.",
    ready: "The search goes on once the key is neither pinned nor frozen and no version is tried.",
    asking: "The search works out the next candidate.",
    settled: "The search has ended; it begins again when iteration times change.",
  }[tuning] ?? "The next candidate begins when its time has been earned.";
}

function verdictItem() {
  const ago = h("span", { class: "hint" });
  const item = h("li", { class: "job-verdict" });
  let shown = null;
  item.update = (change) => {
    setText(ago, agoText(change.ago_ns));
    const { ago_ns: _, ...rest } = change;
    if (isSame(rest, shown)) return;
    shown = rest;
    replace(item, h("div", null, verdictBadge(change.status), " ", subjectText(change), " ", ago),
            change.message && h("div", null, longText(change.message)),
            measuredText(change) &&
              h("div", { class: "hint" }, "medians of current and candidate: ",
                measuredText(change)));
  };
  return item;
}

export class JobPage {
  element = h("div", { class: "view-part" });
  #id;
  #parts = null;
  #shown = {};

  constructor(id) {
    this.#id = id;
  }

  #build(job) {
    const parts = {
      title: h("h1", null, nameElement(job.name || job.job)), state: jobState(),
      place: h("p", { class: "lead" }), tools: keyTools(), gone: h("div"),
      stopped: h("div"), strip: strip({ large: true }), busy: busyBars(),
      budget: meter("Exploration budget used"), step: fact("Step"),
      iteration: fact("Iteration", "median of the latest iterations"),
      exposed: fact("Exposed", "share of the iteration in which rank 0 communicates and computes " +
                               "nothing"),
      version: fact("Version", "\"own\" is not one of the daemon's"),
      placement: placementFacts(),
      trying: h("div"), config: h("div"), verdicts: h("ol", { class: "job-verdicts" }),
      noVerdict: h("p", { class: "hint" }), values: h("div"), note: h("p"),
    };
    this.#parts = parts;
    replace(this.element,
      h("p", { class: "breadcrumb" }, h("a", { href: href(["jobs"]) }, "All jobs")),
      h("div", { class: "view-head" }, h("div", null, parts.title, parts.place), parts.tools),
      parts.state, parts.gone, parts.stopped,
      h("section", { class: "panel", "aria-label": "Now" }, h("h2", null, "Now"),
        parts.strip, h("dl", { class: "facts" }, parts.step, parts.iteration, parts.exposed,
          fact("Busy").put(parts.busy), parts.version, fact("Explored").put(parts.budget),
          parts.placement),
        parts.note, parts.values),
      h("div", { class: "columns" },
        h("section", { class: "panel" }, h("h2", null, "Tried against it"), parts.trying),
        h("section", { class: "panel" }, h("h2", null, "Verdicts"), parts.noVerdict,
          parts.verdicts)),
      h("section", null, parts.config));
  }

  /// data: {jobs, configs, known} of /v1/jobs, /v1/configs and knobs()
  update({ jobs, configs, known }) {
    const job = jobs.find((one) => one.job === this.#id);
    if (!job) {
      this.#showGone();
      return;
    }
    if (!this.#parts) this.#build(job);
    const parts = this.#parts;
    if (this.#shown.gone) replace(parts.gone);
    this.#shown.gone = false;
    this.#showFacts(job);
    this.#showKey(job, configs);
    this.#once("trying", [job.trying, job.config, job.explore > 0, Boolean(job.tuning_stopped),
                          job.tuning],
               () => replace(parts.trying, this.#tried(job, known)));
    this.#once("config", [job.config, job.version, job.version_from], () =>
      replace(parts.config, configTable({ caption: `Configuration: ${originText(job)}`,
                                          config: job.config, known })));
    const changes = (job.changes ?? []).map((change, index) => ({ change, index }));
    reconcile(parts.verdicts, changes.reverse(), ({ change }) =>
                `${subjectText(change)} ${change.status} ${change.message}`,
              verdictItem, (item, { change }) => item.update(change));
    setText(parts.noVerdict, changes.length > 0 ? "" : "None yet. The guard and the A/B window " +
            "decide within a few dozen iterations after a candidate has begun.");
    parts.noVerdict.hidden = changes.length > 0;
  }

  /// Calls `draw` when `value` differs from that of the last time.
  #once(name, value, draw) {
    if (isSame(this.#shown[name], value)) return;
    this.#shown[name] = value;
    draw();
  }

  #showFacts(job) {
    const parts = this.#parts;
    parts.state.update(job);
    parts.strip.update(job.latest_ns ?? []);
    parts.step.update(countText(job.step));
    parts.iteration.update(iterationText(job));
    parts.exposed.update(percentText(exposedShare(job)));
    parts.busy.update(job);
    parts.version.update(versionText(job));
    parts.budget.update(budgetShare(job), budgetText(job));
    parts.placement.update(job);
    this.#once("note", job.note ?? "", () => {
      replace(parts.note, job.note && ["It says: ", longText(job.note)]);
      parts.note.hidden = !job.note;
    });
    this.#once("values", job.values ?? {}, () => {
      const values = otherValues(job);
      replace(parts.values, values.length > 0 && [h("h3", null, "Measured by the job itself"),
        facts(values.map(([name, value]) =>
          [h("bdi", null, printable(name)), measuredValue(name, value)]))]);
      parts.values.hidden = values.length === 0;
    });
    this.#once("stopped", job.tuning_stopped ?? "", () => replace(parts.stopped,
      job.tuning_stopped && h("div", { class: "notice bad" },
        h("p", null, h("strong", null, "Tuning stopped: "), longText(job.tuning_stopped)),
        h("p", null, "The job keeps what it has until the daemon starts again."))));
  }

  #showKey(job, configs) {
    const key = configs.find((one) => one.key === job.key) ?? {};
    this.#once("place", [job.world_size, job.host, job.key, job.workload, job.topology, job.job],
      () => replace(this.#parts.place, `${countedText(job.world_size, "rank")} on `,
        nameElement(job.host, "an unknown host"), " · ", nameElement(job.topology), " · ",
        "key ", h("a", { href: href(["configs", job.key]) }, shortKey(job.key)), " · job ",
        nameElement(job.job)));
    const name = shortName(job.workload || job.name || job.job);
    this.#parts.tools.update({ key: job.key, name, version: key.version ?? 0,
                               pinned: Boolean(key.pinned), frozen: Boolean(key.frozen),
                               job: { job: job.job, connected: job.connected,
                                      name: shortName(job.name || job.job) } });
  }

  #tried(job, known) {
    if (job.trying) {
      const name = capital(subjectText(job.trying));
      return [h("p", null, `${name} runs in alternating blocks against what the job runs now.`),
              settingsTable({ caption: "Difference", known, onlyChanges: true,
                              before: { name: "Runs now", config: job.config },
                              after: { name, config: job.trying.config } })];
    }
    if (job.tuning_stopped) return h("p", { class: "hint" }, "Nothing: tuning has stopped.");
    if (!(job.explore > 0))
      return h("p", { class: "hint" }, "Nothing: the job was started without --explore and takes " +
                                       "only versions that are pushed.");
    return h("p", { class: "hint" }, `Nothing at present. ${untriedText(job.tuning)}`);
  }

  /// A job that was seen keeps its last values on the screen.
  #showGone() {
    if (this.#parts && this.#shown.gone) return;
    const text = empty(this.#parts ? "This job has ended." : "No running job has this id.",
      ["The daemon forgets jobs that have ended; what tuning found stays in ",
       h("a", { href: href(["configs"]) }, "Configurations"), " and ",
       h("a", { href: href(["studies"]) }, "Studies"), ". ",
       h("a", { href: href(["jobs"]) }, "All running jobs")]);
    if (this.#parts) {
      this.#shown.gone = true;
      replace(this.#parts.gone, text);
    } else {
      replace(this.element, h("h1", null, "Job ", nameElement(this.#id)), text);
    }
  }
}
