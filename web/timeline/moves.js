// The actions of keys and buttons on a timeline.

import { BOX_WORDS } from "./tile.js";

export class Moves {
  constructor(timeline) {
    this.timeline = timeline;
  }

  get view() {
    return this.timeline.view;
  }

  focusTime() {
    return this.timeline.focusTime();
  }

  scrollBy(pixels) {
    this.timeline.scrollBy(pixels);
  }

  focusSearch() {
    this.timeline.focusSearch();
  }

  toggleHelp() {
    this.timeline.toggleHelp();
  }

  /// Goes to the next or previous match, from the selected box if it is in sight, else from what is
  /// visible.
  async find({ text = "", kind = "", backward = false, leastNs = 0 }, options = {}) {
    const { timeline } = this, { box } = timeline.selection, [from, to] = timeline.visible();
    const isInSight = box && box.begin_ns < to && box.end_ns > from;
    // The search goes on at the last one of a group of records.
    const last = isInSight && !backward ? box.record + box.records - 1 : box?.record;
    const place = isInSight ? { lane: box.lane, record: last } : null;
    const answer = await timeline.source.find({ text, kind, backward, place, leastNs,
                                                from: backward ? to : from }, options);
    if (answer.found) this.#choose(answer.found);
    return answer;
  }

  #choose(found) {
    return this.timeline.selection.select(
      { lane: found.lane, record: found.record, records: 1, join: 0, begin_ns: found.begin_ns,
        end_ns: found.end_ns }, { reveal: true });
  }

  async findExposed(backward) {
    const { timeline } = this, { box } = timeline.selection;
    const isExposed = box && timeline.source.layout.lanes[box.lane].kind === "exposed";
    if (!isExposed) timeline.selection.box = null;
    try {
      // Stretches of less than a pixel would be many steps in which nothing is seen to happen.
      const leastNs = timeline.drawing.frame.nsPerPixel;
      const { found } = await this.find({ kind: "exposed", backward, leastNs });
      if (!found) {
        timeline.say(`No exposed stretch of a pixel or more ${backward ? "before" : "after"} this; ` +
                     "zoom in to see shorter ones");
      }
    } catch (error) {
      timeline.say(error.message);
    }
  }

  /// Shows the details of the selected box, or selects the one in the middle of the first lane that
  /// has one.
  enter() {
    const { timeline } = this, { selection } = timeline;
    if (selection.box) {
      timeline.parts.details.querySelector("button")?.focus();
      return;
    }
    const rows = timeline.lanes.rows.filter((row) => row.isOpen && row.kind !== "iteration");
    for (const row of rows) {
      const box = this.#middleBox(row);
      if (box) {
        selection.select(box, { reveal: true });
        return;
      }
    }
  }

  /// Returns the box of a row that is nearest to a time, by default the middle of what is visible.
  #middleBox(row, time) {
    const { drawing } = this.timeline, { frame } = drawing;
    const x = time === undefined ? frame.width / 2 : time / frame.nsPerPixel - frame.offset;
    let best = null, bestDistance = Infinity;
    for (const { tile, a, b, x0, x1 } of drawing.segments.list) {
      if (tile.starts[row.lane] < 0) continue;
      const first = Math.max(0, tile.firstAfter(row.lane, (x - a) / b) - 1);
      for (let i = first; i < Math.min(tile.counts[row.lane], first + 3); ++i) {
        const at = tile.starts[row.lane] + BOX_WORDS * i;
        const left = a + tile.floats[at] * b, right = a + tile.floats[at + 1] * b;
        if (right < x0 || left > x1) continue;
        const distance = Math.max(left - x, x - right, 0);
        if (distance >= bestDistance) continue;
        bestDistance = distance;
        const { words } = tile, toNs = (place) => (place + frame.offset) * frame.nsPerPixel;
        best = { lane: row.lane, record: words[at + 4], records: words[at + 5],
                 name: words[at + 3], join: words[at + 6], begin_ns: toNs(left),
                 end_ns: toNs(right) };
      }
    }
    return best;
  }

  async stepRecord(by) {
    const { selection, source } = this.timeline, { box } = selection;
    if (!box) {
      this.enter();
      return;
    }
    const record = by > 0 ? box.record + box.records : box.record - 1;
    if (record < 0 || record >= source.layout.lanes[box.lane].records) return;
    const next = { lane: box.lane, record, records: 1, join: 0, begin_ns: box.begin_ns,
                   end_ns: box.end_ns };
    await selection.select(next);
    if (selection.box === next) this.timeline.reveal(next.begin_ns, next.end_ns, next.lane);
  }

  stepLane(by) {
    const { selection, lanes } = this.timeline, { box } = selection;
    if (!box) {
      this.enter();
      return;
    }
    const time = (box.begin_ns + box.end_ns) / 2;
    for (let i = lanes.rowOfLane.get(box.lane).number + by; lanes.rows[i]; i += by) {
      const next = this.#middleBox(lanes.rows[i], time);
      if (!next) continue;
      selection.select(next, { reveal: true });
      return;
    }
  }

  zoomToSelection() {
    const { selection } = this.timeline;
    if (selection.box) {
      this.timeline.zoomTo(selection.box.begin_ns, selection.box.end_ns);
    } else if (selection.range) {
      this.timeline.zoomTo(selection.range.begin, selection.range.end);
    }
  }

  markSelection() {
    const { selection } = this.timeline;
    if (selection.box) selection.setRange(selection.box.begin_ns, selection.box.end_ns, true);
  }

  markVisible() {
    this.timeline.selection.setRange(...this.timeline.visible(), true);
  }

  /// Moves the end of the range by a share of what is visible; begins one where none is.
  growRange(share) {
    const { selection } = this.timeline, [from, to] = this.timeline.visible();
    const begin = selection.range?.begin ?? selection.box?.begin_ns ?? (from + to) / 2;
    const end = (selection.range?.end ?? begin) + share * (to - from);
    if (end > begin) {
      selection.setRange(begin, end, true);
    } else {
      selection.clearRange();
    }
  }

  escape() {
    const { selection } = this.timeline;
    if (selection.range) {
      selection.clearRange();
    } else if (selection.box) {
      selection.select(null);
    } else {
      this.timeline.parts.help.hidden = true;
    }
  }
}
