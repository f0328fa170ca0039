// One study: what came of it, and its parts as tabs. A running study is loaded again when the store
// changes; what the reader has selected, scrolled to or focused stays.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { current, href, setQuery } from "../../router.js";
import { failed, loading } from "../../states.js";
import { oneAtATime } from "../refresh.js";
import { objectivesOf } from "./data.js";
import { stateNode, tabBar } from "../parts.js";
import { ParallelTab } from "./parallel.js";
import { ContourTab, FrontTab, PlotTab, PredictedTab } from "./plots.js";
import { summary } from "./summary.js";
import { selectedTrial, TrialPanel } from "./trial.js";
import { TrialsTab } from "./trials.js";
import { ImportanceTab, WhyTab } from "./why.js";

const tabs = [
  { id: "trials", title: "Trials", make: (study) => new TrialsTab(study) },
  { id: "convergence", title: "Convergence", make: (study) => new PlotTab(study, "convergence",
    "The value of each trial in the order in which they ran, and the best so far.") },
  { id: "slices", title: "Slices", make: (study) => new PlotTab(study, "slices",
    "What the model expects along each parameter, with the others as recommended: its mean and " +
    "one standard deviation to either side. Dots are measurements.") },
  { id: "contour", title: "Contour", make: (study) => new ContourTab(study) },
  { id: "parallel", title: "Parallel coordinates", make: (study) => new ParallelTab(study) },
  { id: "importance", title: "Importance", make: (study) => new ImportanceTab(study) },
  { id: "front", title: "Pareto front", make: (study) => new FrontTab(study) },
  { id: "predicted", title: "Predicted against measured",
    make: (study) => new PredictedTab(study) },
  { id: "why", title: "Why", make: (study) => new WhyTab(study) },
];

export class Study {
  constructor(name) {
    this.name = name;
    this.query = new URLSearchParams();
    this.abort = new AbortController();
    this.refresh = oneAtATime(() => this.load());
    this.state = h("span", { class: "study-state" });
    this.head = h("div", { class: "part" });
    this.bar = tabBar("Parts of the study");
    this.bar.hidden = true;
    this.body = h("div", { class: "tab-body" }, loading("Loading the study"));
    this.panel = new TrialPanel(this);
    this.element = h("div", { class: "part study" },
      h("p", { class: "breadcrumb" }, h("a", { href: href(["studies"]) }, "Studies")),
      h("h1", { class: "name-title" }, h("bdi", null, name), " ", this.state),
      this.head, this.bar, this.body, this.panel.element);
  }

  close() {
    this.abort.abort();
  }

  /// Returns an answer of the daemon about this study.
  path(rest = "") {
    return `/v1/studies/${encodeURIComponent(this.name)}${rest}`;
  }

  /// Returns the explanation, computed once for each change of the study.
  explanation() {
    const version = this.study.updated_at_ns;
    if (this.explained?.version !== version) {
      const answer = get(this.path("/explanation"), { signal: this.abort.signal });
      answer.catch(() => {});
      this.explained = { version, answer };
    }
    return this.explained.answer;
  }

  select(trial) {
    setQuery({ trial: trial === null ? null : String(trial) }, { replace: true });
  }

  route(query) {
    this.query = query;
    this.selected = selectedTrial(query);
    if (this.study) this.show();
  }

  async load() {
    const { signal } = this.abort;
    let study, trials;
    try {
      study = await get(this.path(), { signal });
      if (this.study?.updated_at_ns === study.updated_at_ns) return;
      ({ trials } = await get(this.path("/trials"), { signal }));
    } catch (error) {
      // The old content stays; the shell says that the daemon does not answer.
      if (signal.aborted || this.study) return;
      replace(this.body, failed(error, () => this.refresh()));
      return;
    }
    [this.study, this.trials] = [study, trials];
    this.objectives = objectivesOf(study);
    replace(this.state, stateNode(study.state));
    const open = this.head.querySelector("details")?.open ?? false;
    replace(this.head, ...summary(this));
    this.head.querySelector("details").open = open;
    this.show();
  }

  /// Returns the tabs of this study; a front takes several objectives.
  tabs() {
    return tabs.filter(({ id }) => id !== "front" || this.objectives.length > 1);
  }

  show() {
    const shown = this.tabs();
    const chosen = shown.find(({ id }) => id === this.query.get("tab")) ?? shown[0];
    this.bar.hidden = false;
    this.bar.update(shown.map(({ id, title }) => ({ id, title, href: this.tabHref(id) })),
      chosen.id);
    if (this.tab?.id !== chosen.id) {
      this.tab = { id: chosen.id, part: chosen.make(this) };
      replace(this.body, this.tab.part.element);
    }
    // The whole summary is beside the trials; the other tabs have the room for what they show.
    this.head.classList.toggle("compact", chosen.id !== "trials");
    this.tab.part.update();
    this.panel.update();
  }

  /// Returns the address of a tab; the selected trial and the brushes stay in it.
  tabHref(id) {
    const query = Object.fromEntries(current().query);
    delete query.sort;
    if (id === "trials") delete query.tab;
    else query.tab = id;
    return href(["studies", this.name], query);
  }
}
