// The selection: a box and a range of time. Asks the source for what it says about them, and
// keeps only the newest answer.

import { replace } from "../dom.js";
import { failed, loading } from "../states.js";
import { figuresPanel, groupPanel, recordPanel, sayRecord } from "./panel.js";
import { NO_NAME } from "./tile.js";

const REST_MS = 350;

export class Selection {
  box = null;
  range = null;
  #details = null;
  #figures = null;
  #timer = 0;

  /// `timeline`: source, visible() → [from, to], reveal(begin, end), redraw(), say(text), step(),
  /// rangeChanged(), selectionChanged().
  constructor(timeline, parts) {
    this.timeline = timeline;
    this.parts = parts;
  }

  clear() {
    this.#details?.abort();
    this.#figures?.abort();
    clearTimeout(this.#timer);
    this.box = null;
    this.range = null;
    replace(this.parts.details);
    replace(this.parts.figures);
  }

  /// Selects a box {lane, record, records, begin_ns, end_ns, …}; null for none.
  async select(box, { reveal = false } = {}) {
    this.#details?.abort();
    this.box = box;
    this.timeline.redraw();
    this.timeline.selectionChanged();
    if (!box) {
      replace(this.parts.details);
      return;
    }
    if (reveal) this.timeline.reveal(box.begin_ns, box.end_ns, box.lane);
    if (box.records > 1) {
      this.#showGroup(box);
      return;
    }
    await this.#load(box);
  }

  async #load(box) {
    const abort = this.#details = new AbortController(), { timeline } = this;
    try {
      const record = await timeline.source.record(box.lane, box.record, { signal: abort.signal });
      if (abort.signal.aborted) return;
      Object.assign(box, { begin_ns: record.begin_ns, end_ns: record.end_ns, isCut: false,
                           partners: record.partners ?? [] });
      replace(this.parts.details,
              recordPanel(record, timeline.source.layout, box, this.#actions(box)));
      timeline.say(sayRecord(record));
      timeline.redraw();
    } catch (error) {
      if (error.name === "AbortError" || abort.signal.aborted) return;
      replace(this.parts.details, failed(error, () => this.select(box)));
    }
  }

  #showGroup(box) {
    const name = box.name === NO_NAME ? "" : this.timeline.source.layout.names[box.name];
    replace(this.parts.details, groupPanel(box, name, this.#actions(box)));
    this.timeline.say(`${box.records} records, too short to be told apart at this scale`);
  }

  #actions(box) {
    return {
      zoomTo: () => this.timeline.zoomTo(box.begin_ns, box.end_ns),
      mark: () => this.setRange(box.begin_ns, box.end_ns, true),
      close: () => {
        this.select(null);
        this.timeline.focusCanvas();
      },
      goTo: ({ lane, record, begin_ns, end_ns }) => this.select(
        { lane, record, records: 1, join: box.join, begin_ns, end_ns }, { reveal: true }),
    };
  }

  /// Sets the range; its figures are asked for when it is final.
  setRange(begin, end, isFinal) {
    const limit = this.timeline.source.layout.end_ns;
    const held = (time) => Math.min(Math.max(Math.round(time), 0), limit);
    const range = { begin: held(Math.min(begin, end)), end: held(Math.max(begin, end)) };
    this.range = range.end > range.begin ? range : null;
    this.timeline.redraw();
    if (!isFinal) return;
    this.timeline.rangeChanged();
    this.ask(0);
  }

  clearRange() {
    this.range = null;
    this.timeline.redraw();
    this.timeline.rangeChanged();
    this.ask(0);
  }

  /// Shows the figures of the range, or of what is visible once it rests.
  ask(waitMs = REST_MS) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#askNow(), waitMs);
  }

  async #askNow() {
    const { timeline, parts, range } = this, layout = timeline.source.layout;
    const [from, to] = range ? [range.begin, range.end] : timeline.visible();
    const begin = Math.max(0, Math.floor(from)), end = Math.min(layout.end_ns, Math.ceil(to));
    this.#figures?.abort();
    const abort = this.#figures = new AbortController();
    if (!parts.figures.hasChildNodes()) replace(parts.figures, loading("Loading the figures"));
    if (end <= begin) {
      replace(parts.figures, "Nothing of this timeline is in sight.");
      return;
    }
    try {
      const figures = await timeline.source.range(begin, end, { signal: abort.signal });
      if (abort.signal.aborted) return;
      replace(parts.figures, figuresPanel(figures, {
        isSelected: range !== null, step: (end - begin) / 1000, label: timeline.label }));
    } catch (error) {
      if (error.name === "AbortError" || abort.signal.aborted) return;
      replace(parts.figures, failed(error, () => this.ask(0)));
    }
  }
}
