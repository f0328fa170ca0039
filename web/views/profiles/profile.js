// One profile: what it recorded, its figures and iterations, and the ways to look at its trace.

import { download, get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { badge, facts, longText, nameElement, timeElement } from "../../elements.js";
import {
  bytesText, configText, countText, countedText, durationText, percentText,
} from "../../format.js";
import { openInPerfetto } from "../../perfetto.js";
import { go, href, setQuery } from "../../router.js";
import { announce, failed, loading } from "../../states.js";
import { plot } from "../../svg.js";
import { iterationChart } from "./chart.js";
import { figuresSection, ranksSection } from "./tables.js";
import { oneAtATime } from "../refresh.js";
import { notesNode } from "../parts.js";

export class Profile {
  constructor(name) {
    this.name = name;
    this.query = new URLSearchParams();
    this.abort = new AbortController();
    this.refresh = oneAtATime(() => this.load());
    this.body = h("div", { class: "part" }, loading("Loading the profile"));
    this.marks = h("span");
    this.tools = h("div", { class: "tools" });
    this.element = h("div", { class: "part" },
      h("p", { class: "breadcrumb" }, h("a", { href: href(["profiles"]) }, "Profiles")),
      h("div", { class: "view-head" },
        h("h1", null, h("bdi", null, name), " ", this.marks), this.tools),
      this.body);
  }

  close() {
    this.abort.abort();
  }

  path(rest = "") {
    return `/v1/profiles/${encodeURIComponent(this.name)}${rest}`;
  }

  route(query) {
    this.query = query;
    if (this.answer) this.showChart();
  }

  /// A profile does not change, except for its marks; it is shown anew only if the answer is.
  async load() {
    let answer;
    try {
      answer = await get(this.path(), { signal: this.abort.signal });
    } catch (error) {
      if (this.abort.signal.aborted || this.answer) return;
      replace(this.body, failed(error, () => this.refresh()));
      return;
    }
    const text = JSON.stringify(answer);
    if (text === this.shown) return;
    this.shown = text;
    this.answer = answer;
    this.show();
  }

  show() {
    const { summary, figures } = this.answer;
    replace(this.marks, summary.kept && badge("kept", "accent"));
    replace(this.tools, this.buttons(summary));
    this.chart = h("section", { class: "panel" });
    replace(this.body, factsOf(summary), notesNode(figures.notes), this.chart,
      figuresSection(figures), ranksSection(summary));
    this.showChart();
  }

  buttons(summary) {
    const has = summary.ranks.some(({ trace }) => trace !== null) && summary.trace_bytes > 0;
    if (!has) {
      return [h("p", { class: "hint" }, "Its traces are no longer there, so there is no timeline."),
        this.comparison()];
    }
    const save = (format, suffix) => download(this.path(`/trace?format=${format}`),
      this.name + suffix).catch((error) => announce(
      `The trace was not downloaded: ${error.message}`, "bad"));
    const button = (text, title, onclick) => h("button", { type: "button", title, onclick }, text);
    return [
      h("a", { class: "button", href: href(["timeline", this.name]) }, "Timeline"),
      h("a", { class: "button", href: href(["simulate"], { profile: this.name }) }, "Simulate"),
      button("Open in Perfetto", "Opens another site, after asking",
        () => openInPerfetto(this.name)),
      button("Download for Perfetto", "The trace in Perfetto's own format",
        () => save("perfetto", ".perfetto-trace")),
      button("Download for Chrome", "The trace as JSON, for chrome://tracing and others",
        () => save("chrome", ".json")),
      this.comparison(),
    ];
  }

  /// Returns a list of the other profiles to compare with; it is filled when it is first needed.
  comparison() {
    const select = h("select", { "aria-label": "Compare with another profile",
      onchange: () => select.value && go(href(["profiles", this.name, "diff", select.value])) },
    h("option", { value: "" }, "Compare with …"));
    const fill = async () => {
      select.removeEventListener("focus", fill);
      const answer = await get("/v1/profiles", { signal: this.abort.signal }).catch(() => null);
      const others = (answer?.profiles ?? []).map(({ profile }) => profile).reverse()
        .filter((name) => name !== this.name);
      select.append(...others.map((value) => h("option", { value }, value)));
      if (answer && others.length === 0) {
        select.append(h("option", { disabled: true }, "there is no other profile"));
      }
    };
    select.addEventListener("focus", fill);
    select.addEventListener("pointerenter", fill, { once: true });
    return select;
  }

  showChart() {
    const { iterations } = this.answer.figures;
    const ranks = [...new Set(iterations.map(({ rank }) => rank))].sort((a, b) => a - b);
    if (ranks.length === 0) {
      replace(this.chart, h("h2", null, "Iterations"),
        h("p", { class: "hint" }, "The traces mark no iterations, so there are none to show."));
      return;
    }
    const wanted = Number(this.query.get("rank") ?? ranks[0]);
    const rank = ranks.includes(wanted) ? wanted : ranks[0];
    if (this.chart.rank === rank) return;
    this.chart.rank = rank;
    const name = `Iterations of rank ${rank}`;
    const chart = iterationChart(iterations.filter((each) => each.rank === rank), name);
    if (this.plot) {
      this.plot.options.name = name;
      this.plot.show(chart);
      if (this.chart.contains(this.plot)) return;
    }
    const select = h("select", { value: String(rank),
      onchange: () => setQuery({ rank: select.value }, { replace: true }) },
    ranks.map((each) => h("option", { value: each }, each)));
    this.plot ??= plot(chart, { zoom: false, name });
    replace(this.chart, h("div", { class: "view-head" }, h("h2", null, "Iterations"),
      ranks.length > 1 && h("label", { class: "check-label" }, "Rank ", select)),
    h("p", { class: "legend" }, h("span", { class: "swatch swatch-whole" }), "whole iteration",
      h("span", { class: "swatch swatch-exposed" }), "exposed communication in it"), this.plot);
  }
}

function factsOf(summary) {
  const { overhead } = summary;
  return h("section", { class: "panel profile-facts" }, facts([
    ["Iteration", h("strong", null, durationText(summary.iteration_ns))],
    ["Exposed communication", h("strong", null, percentText(summary.exposed_share))],
    ["Iterations", countText(summary.iterations)],
    ["Made", timeElement(summary.created_at_ns)],
    ["Source", nameElement(summary.source)],
    ["Workload", nameElement(summary.workload, "unknown")],
    ["Topology", longText(summary.topology ?? "unknown", 160)],
    ["Configuration", h("code", null, summary.config ? longText(configText(summary.config))
      : "unknown")],
    ["Structure", summary.tasks > 0 ? `${countedText(summary.tasks, "task")} a step`
      : "unknown: nothing can be predicted from it"],
    ["Traces", bytesText(summary.trace_bytes)],
    overhead && ["Cost of profiling", `${percentText(overhead.share)} ± ` +
      `${percentText(overhead.share_margin)} (an iteration takes ` +
      `${durationText(overhead.profiled_ns)} profiled, ${durationText(overhead.plain_ns)} not)`],
  ]));
}
