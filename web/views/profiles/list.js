// The list of profiles, with filters, and the choice of two to compare.

import { get } from "../../api.js";
import { h, replace, setText } from "../../dom.js";
import { badge, nameElement, sinceElement } from "../../elements.js";
import {
  agoText, bytesText, configText, countText, countedText, durationText, percentText,
  printable,
} from "../../format.js";
import { href, setQuery } from "../../router.js";
import { empty, failed, loading } from "../../states.js";
import { table } from "../../table.js";
import { sortIn, sortQuery } from "../parts.js";
import { oneAtATime } from "../refresh.js";

const FILTERS = [
  { key: "workload", label: "Workload", of: (profile) => profile.workload ?? "unknown" },
  { key: "topology", label: "Topology", of: (profile) => profile.topology ?? "unknown" },
  { key: "source", label: "Source", of: (profile) => profile.source },
];

/// Returns whether a profile has all words of `text` in what the list says of it.
function hasText(profile, text) {
  const all = [profile.profile, profile.workload, profile.topology, profile.source,
    configText(profile.config), ...profile.notes].join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

export class ProfileList {
  constructor() {
    this.query = new URLSearchParams();
    this.abort = new AbortController();
    this.refresh = oneAtATime(() => this.load());
    this.body = h("div", null, loading("Loading the profiles"));
    this.count = h("p", { class: "lead", role: "status" });
    this.choice = h("div", { class: "choice-bar", role: "region", "aria-label": "Comparison" });
    this.filters = this.makeFilters();
    this.element = h("div", { class: "part" },
      h("div", { class: "view-head" }, h("h1", null, "Profiles"), this.count),
      this.filters, this.choice, this.body);
  }

  close() {
    this.abort.abort();
  }

  makeFilters() {
    const set = (key, value) => setQuery({ [key]: value || null }, { replace: true });
    this.text = h("input", { type: "search", placeholder: "name, configuration, note …",
      oninput: () => set("text", this.text.value.trim()) });
    this.selects = FILTERS.map(({ key }) => h("select", {
      onchange: (event) => set(key, event.target.value) }));
    this.kept = h("input", { type: "checkbox",
      onchange: () => set("kept", this.kept.checked ? "1" : "") });
    return h("form", { class: "filters", role: "search", "aria-label": "Filter the profiles",
      onsubmit: (event) => event.preventDefault() },
    h("label", { class: "filter" }, "Text", this.text),
    FILTERS.map(({ label }, i) => h("label", { class: "filter" }, label, this.selects[i])),
    h("label", { class: "check-label" }, this.kept, " kept only"));
  }

  route(query) {
    this.query = query;
    if (document.activeElement !== this.text) this.text.value = query.get("text") ?? "";
    this.kept.checked = query.get("kept") === "1";
    if (this.profiles) this.show();
  }

  async load() {
    try {
      this.profiles = (await get("/v1/profiles", { signal: this.abort.signal })).profiles;
    } catch (error) {
      if (this.abort.signal.aborted || this.profiles) return;
      replace(this.body, failed(error, () => this.refresh()));
      return;
    }
    this.profiles.reverse();
    this.show();
  }

  show() {
    this.fillSelects();
    const rows = this.profiles.filter((profile) => this.isWanted(profile));
    setText(this.count, rows.length === this.profiles.length
      ? countedText(rows.length, "profile")
      : `${countText(rows.length)} of ${countedText(this.profiles.length, "profile")}`);
    this.filters.hidden = this.profiles.length === 0;
    this.showRows(rows);
    this.showChoice();
  }

  /// Offers the values that profiles have, and the one of the address if no profile has it.
  fillSelects() {
    FILTERS.forEach(({ key, of }, i) => {
      const chosen = this.query.get(key) ?? "";
      const values = [...new Set(this.profiles.map(of))].sort();
      if (chosen && !values.includes(chosen)) values.push(chosen);
      const shown = JSON.stringify(values);
      const select = this.selects[i];
      if (select.shown !== shown) {
        select.shown = shown;
        replace(select, h("option", { value: "" }, "all"),
          values.map((value) => h("option", { value }, printable(value).slice(0, 60))));
      }
      select.value = chosen;
    });
  }

  isWanted(profile) {
    const { query } = this;
    if (query.get("kept") === "1" && !profile.kept) return false;
    if (FILTERS.some(({ key, of }) => query.get(key) && query.get(key) !== of(profile))) {
      return false;
    }
    return hasText(profile, query.get("text") ?? "");
  }

  showRows(rows) {
    if (rows.length === 0) {
      this.table = null;
      replace(this.body, this.profiles.length === 0 ? noProfiles() : noMatch());
      return;
    }
    if (this.table) {
      this.table.update(rows);
    } else {
      this.table = table({
        caption: "Profiles of the store", rows, cards: true, columns: this.columns(),
        key: (profile) => profile.id,
        link: (profile) => href(["profiles", profile.profile]),
        sort: sortIn(this.query),
        onsort: (sort) => setQuery(sortQuery(sort), { replace: true }),
      });
      replace(this.body, this.table);
    }
    const chosen = this.chosen();
    for (const box of this.table.querySelectorAll("input[data-profile]")) {
      box.checked = chosen.includes(box.dataset.profile);
    }
  }

  columns() {
    return [
      { name: "Profile", text: (profile) => profile.profile, sort: (profile) => profile.profile },
      // The text is always the same, so that a box is not made anew while it has the focus.
      { name: "Compare", text: () => "", node: (profile) => this.box(profile) },
      { name: "Iteration", text: (profile) => durationText(profile.iteration_ns), numeric: true,
        sort: (profile) => profile.iteration_ns, hint: "median over the lowest rank's iterations" },
      { name: "Exposed", text: (profile) => percentText(profile.exposed_share), numeric: true,
        sort: (profile) => profile.exposed_share,
        hint: "share of an iteration in which only communication runs" },
      { name: "Iterations", text: (profile) => countText(profile.iterations), numeric: true,
        sort: (profile) => profile.iterations },
      nameColumn("Workload", (profile) => profile.workload),
      nameColumn("Topology", (profile) => profile.topology),
      nameColumn("Source", (profile) => profile.source),
      { name: "Traces", text: tracesText, sort: (profile) => profile.trace_bytes },
      { name: "Made", text: (profile) => agoText(Date.now() * 1e6 - profile.created_at_ns),
        node: (profile) => sinceElement(profile.created_at_ns),
        sort: (profile) => profile.created_at_ns },
      { name: "Remarks", text: remarksText, node: remarksNode },
    ];
  }

  box(profile) {
    return h("input", { type: "checkbox", dataset: { profile: profile.profile },
      "aria-label": `Compare ${profile.profile}`,
      onchange: (event) => this.choose(profile.profile, event.target.checked) });
  }

  /// Returns the names of the chosen profiles, at most two.
  chosen() {
    const known = new Set(this.profiles.map(({ profile }) => profile));
    return (this.query.get("pick") ?? "").split(",").filter((name) => known.has(name)).slice(0, 2);
  }

  choose(name, isChosen) {
    const others = this.chosen().filter((each) => each !== name);
    const names = isChosen ? [...others.slice(-1), name] : others;
    const at = (each) => this.profiles.find(({ profile }) => profile === each)?.created_at_ns ?? 0;
    names.sort((a, b) => at(a) - at(b));
    setQuery({ pick: names.join(",") || null }, { replace: true });
  }

  showChoice() {
    const [before, after] = this.chosen();
    const shown = JSON.stringify([before, after, this.profiles.length > 1]);
    if (shown === this.choiceShown) return;
    this.choiceShown = shown;
    if (this.profiles.length < 2) return replace(this.choice);
    const clear = () => setQuery({ pick: null }, { replace: true });
    const button = (text, onclick) => h("button", { type: "button", onclick }, text);
    const text = !before ? "Choose two profiles to compare them."
      : !after ? [h("bdi", null, before), " is chosen; choose another one to compare it with."]
        : ["Before: ", h("strong", null, before), ", after: ", h("strong", null, after)];
    replace(this.choice, h("p", { role: "status" }, text),
      after && h("a", { class: "button primary-link", href: href(["profiles", before, "diff",
        after]) }, "Compare"),
      after && button("Swap", () => setQuery({ pick: `${after},${before}` }, { replace: true })),
      before && button("Clear", clear));
  }
}

function nameColumn(name, of) {
  return { name, text: (profile) => of(profile) ?? "–", sort: of,
    node: (profile) => nameElement(of(profile), "–") };
}

function tracesText(profile) {
  const there = profile.ranks.filter(({ trace }) => trace !== null).length;
  const all = profile.ranks.length;
  const count = there === all ? countText(all) : `${there} of ${all}`;
  return `${count}, ${bytesText(profile.trace_bytes)}`;
}

function remarksText(profile) {
  const notes = profile.notes.length;
  return [profile.kept && "kept", notes > 0 && countedText(notes, "note")].filter(Boolean)
    .join(", ");
}

function remarksNode(profile) {
  const notes = profile.notes.length;
  return [profile.kept && badge("kept", "accent"), " ",
    notes > 0 && h("span", { title: profile.notes.join("\n").slice(0, 2000) },
      countedText(notes, "note"))];
}

function noProfiles() {
  const verb = (text, command) => h("p", null, text, " ", h("code", null, command));
  return empty("There is no profile yet.", [
    h("p", null, "A profile records when what ran in some iterations of a job, on all ranks."),
    verb("Ask a running job for one:", "hocket profile JOB --iterations 20"),
    verb("Import traces of PyTorch's profiler or Nsight:",
      "hocket profiles import rank0.json rank1.json --name resnet"),
  ]);
}

function noMatch() {
  return empty("No profile matches the filters.",
    h("button", { type: "button", onclick: () => setQuery({ text: null, workload: null,
      topology: null, source: null, kept: null }, { replace: true }) }, "Show all profiles"));
}
