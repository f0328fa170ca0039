// #/timeline/NAME?from=…&to=…&beside=OTHER: a stored profile's timeline, alone or with another one
// on the same scale.

import { download, get } from "../../api.js";
import { addStyle, h, replace } from "../../dom.js";
import { printable } from "../../format.js";
import { live } from "../../live.js";
import { openInPerfetto } from "../../perfetto.js";
import { href, setQuery } from "../../router.js";
import { announce, failed, loading } from "../../states.js";
import { TileSource } from "../../timeline/tile_source.js";
import { TimeView } from "../../timeline/time_view.js";
import "../../timeline/timeline.js";
import { alignedOffset, iterationChoice, profileChoice } from "./choice.js";
import { profileList } from "./list.js";

const style = addStyle(new URL("../../timeline.css", import.meta.url));

function numberIn(query, name) {
  const value = Number(query.get(name));
  return query.has(name) && Number.isFinite(value) ? value : null;
}

function rangeKey(from, to) {
  return `${from} ${to}`;
}

export default class TimelineView extends HTMLElement {
  #route = null;
  #shown = null;
  #sources = [];
  #abort = null;
  #view = null;
  #written = "";

  set route(route) {
    this.#route = route;
    if (this.isConnected) this.#update();
  }

  #storeChanged = () => {
    // A trace does not change, but the list of profiles does.
    if (!this.#route.path[1]) this.#loadList().catch(() => {});
  };

  connectedCallback() {
    this.#shown = null;
    live.addEventListener("store", this.#storeChanged);
    this.#update();
  }

  disconnectedCallback() {
    live.removeEventListener("store", this.#storeChanged);
    this.#close();
  }

  #close() {
    this.#abort?.abort();
    for (const source of this.#sources) source.close();
    this.#sources = [];
  }

  /// A change of the range alone moves the view; anything else loads anew.
  #update() {
    const { path, query } = this.#route;
    const key = JSON.stringify([path[1], query.get("beside"), query.get("at"), query.get("with")]);
    if (key === this.#shown) {
      this.#follow(query);
    } else {
      this.#shown = key;
      this.#load();
    }
  }

  #follow(query) {
    const from = numberIn(query, "from"), to = numberIn(query, "to"), view = this.#view;
    // The address that this view wrote itself may be older than what it shows.
    if (!view || rangeKey(from, to) === this.#written) return;
    this.#written = rangeKey(from, to);
    if (from === null || to === null) {
      view.all();
    } else {
      view.goTo(from, to);
    }
  }

  async #load() {
    this.#close();
    this.#view = null;
    const { path, query } = this.#route, name = path[1];
    this.dispatchEvent(new CustomEvent("title", { bubbles: true,
      detail: name ? `Timeline of ${printable(name)}` : "Timelines" }));
    const abort = this.#abort = new AbortController();
    replace(this, loading(name ? "Loading the timeline" : "Loading the profiles"));
    try {
      await style;
      if (!name) {
        await this.#loadList();
        return;
      }
      const { profiles } = await get("/v1/profiles", { signal: abort.signal });
      const names = [name, query.get("beside")].filter(Boolean);
      this.#sources = names.map((one) => new TileSource(one));
      await Promise.all(this.#sources.map((source) => source.open({ signal: abort.signal })));
      if (abort.signal.aborted) return;
      const none = this.#sources.find(({ layout }) => !(layout.end_ns > 0) || !layout.lanes.length);
      if (none) throw new Error(`The traces of ${none.profile} have no records to draw.`);
      this.#show(names, profiles);
    } catch (error) {
      if (abort.signal.aborted) return;
      replace(this, h("h1", null, name ? h("bdi", null, printable(name)) : "Timelines"),
              failed(error, () => this.#load()),
              h("p", null, h("a", { href: "#/timeline" }, "All profiles")));
    }
  }

  async #loadList() {
    const { signal } = this.#abort, { profiles } = await get("/v1/profiles", { signal });
    if (!signal.aborted) replace(this, profileList(profiles));
  }

  #show(names, profiles) {
    const { query } = this.#route, [main, other] = this.#sources;
    const at = numberIn(query, "at") ?? 0, besideAt = numberIn(query, "with") ?? 0;
    const offset = other ? alignedOffset(main.layout, at, other.layout, besideAt) : 0;
    const panes = h("div", { class: other ? "timeline-panes beside" : "timeline-panes" });
    const timelines = this.#sources.map(() => document.createElement("hk-timeline"));
    panes.append(...timelines);
    replace(this, this.#head(names[0]), this.#choices(names, profiles, at, besideAt),
            notesOf(main.layout), panes);
    const view = this.#view = new TimeView();
    this.#written = rangeKey(numberIn(query, "from"), numberIn(query, "to"));
    const ends = this.#sources.map((source, i) => source.layout.end_ns - (i ? offset : 0));
    view.setLimits(Math.min(0, -offset), Math.max(...ends));
    const begins = other ? beginOf(main.layout, at) : 0;
    view.set(numberIn(query, "from") ?? (other ? begins : view.begin),
             numberIn(query, "to") ?? (other ? firstEnd(main, other, at, besideAt) : view.end));
    timelines.forEach((timeline, i) => timeline.show(this.#sources[i], {
      view, offsetNs: i ? offset : 0, label: other ? names[i] : "",
      zeroNs: other ? begins + (i ? offset : 0) : 0 }));
    if (other) panes.after(...timelines.map((timeline) => timeline.parts.panels));
    mark(timelines[0], query);
    timelines[0].addEventListener("view", ({ detail }) => this.#keep(view, detail));
    timelines[0].addEventListener("mark", () => this.#keepMarks(view, timelines[0].selection));
  }

  /// The selection is a part of the address, too.
  #keepMarks(view, { box, range }) {
    if (!this.isConnected || view !== this.#view) return;
    setQuery({ record: box && box.records === 1 ? `${box.lane}.${box.record}` : null,
               range: range && `${range.begin},${range.end}` }, { replace: true });
  }

  /// Puts the range into the address, which is what a reader shares.
  #keep(view, { from, to }) {
    if (!this.isConnected || view !== this.#view) return;
    const range = view.isAll ? { from: null, to: null }
                             : { from: Math.round(from), to: Math.round(to) };
    this.#written = rangeKey(range.from, range.to);
    setQuery(range, { replace: true });
  }

  #head(name) {
    const path = `/v1/profiles/${encodeURIComponent(name)}/trace?format=perfetto`;
    const tell = (error) => announce(error.message, "bad");
    return h("header", { class: "timeline-head" },
      h("h1", null, "Timeline of ", h("bdi", null, printable(name))),
      h("a", { class: "button", href: href(["profiles", name]) }, "Figures"),
      h("a", { class: "button", href: href(["simulate"], { profile: name }) }, "Simulate"),
      h("button", { type: "button", onclick: () =>
        Promise.resolve(openInPerfetto(name)).catch(tell) }, "Open in Perfetto"),
      h("button", { type: "button", onclick: () =>
        download(path, `${name}.perfetto-trace`).catch(tell) }, "Download"));
  }

  #choices(names, profiles, at, besideAt) {
    const [main, other] = this.#sources;
    const set = (changes) =>
      setQuery({ from: null, to: null, record: null, range: null, ...changes });
    return h("div", { class: "timeline-choice" },
      profileChoice("Beside it", profiles.filter(({ profile }) => profile !== names[0]), names[1],
                    (beside) => set({ beside, with: null, at: null })),
      other && iterationChoice(`Align iteration`, main.layout, at, (value) => set({ at: value })),
      other && iterationChoice(`with iteration`, other.layout, besideAt,
                               (value) => set({ with: value })),
      other && h("a", { href: href(["profiles", names[0], "diff", names[1]]) },
                 "Compare their figures"));
  }
}

function beginOf(layout, at) {
  return layout.iterations[at]?.begin_ns ?? 0;
}

/// Returns the end of the longer of the two iterations, with a margin.
function firstEnd(main, other, at, besideAt) {
  const lengthOf = ({ layout }, i) => {
    const iteration = layout.iterations[i];
    return iteration ? iteration.end_ns - iteration.begin_ns : layout.end_ns;
  };
  return beginOf(main.layout, at) +
    1.05 * Math.max(lengthOf(main, at), lengthOf(other, besideAt));
}

/// Selects what the address says, if the profile has it.
function mark(timeline, query) {
  const [begin, end] = (query.get("range") ?? "").split(",").map(Number);
  const [lane, record] = (query.get("record") ?? "").split(".").map(Number);
  if (end > begin) timeline.selection.setRange(begin, end, true);
  if (!(record < timeline.source.layout.lanes[lane]?.records)) return;
  const box = { lane, record, records: 1, join: 0, begin_ns: 0, end_ns: 0 };
  timeline.selection.select(box).then(() => {
    const isShown = timeline.selection.box === box && box.end_ns > 0;
    if (isShown && !query.has("from")) timeline.reveal(box.begin_ns, box.end_ns, lane);
  });
}

function notesOf(layout) {
  return layout.notes.length > 0 && h("ul", { class: "timeline-notes" },
    layout.notes.map((note) => h("li", null, printable(note))));
}
