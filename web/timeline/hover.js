// The box under the pointer, and the text beside it.

import { countText, durationText, printable } from "../format.js";
import { showTip } from "./chrome.js";
import { NO_NAME } from "./tile.js";

const MOST_CHARACTERS = 80;

export class Hover {
  /// Where the pointer is on the canvas, in CSS pixels; null if it is elsewhere.
  at = null;
  box = null;

  constructor(timeline, parts) {
    this.timeline = timeline;
    this.parts = parts;
  }

  move(at) {
    this.at = at;
    this.timeline.redraw();
  }

  /// To be called after drawing, since the view also moves under a pointer that rests.
  update(room) {
    const { at, box: before } = this, box = at ? this.timeline.boxAt(at.x, at.y) : null;
    if (!box && !before) return;
    this.box = box;
    showTip(this.parts, box && this.#linesOf(box), at?.x ?? 0, at?.y ?? 0, room);
    if (box?.lane !== before?.lane || box?.record !== before?.record) this.timeline.redraw();
  }

  #linesOf(box) {
    const known = box.name === NO_NAME ? "" : this.timeline.source.layout.names[box.name] ?? "";
    const name = printable(known.slice(0, MOST_CHARACTERS));
    const length = durationText(box.end_ns - box.begin_ns);
    if (box.records > 1)
      return [`${countText(box.records)} records`, ...(name ? [name] : []), `within ${length}`];
    return [name, printable(box.row.title), box.isCut ? `at least ${length}` : length];
  }
}
