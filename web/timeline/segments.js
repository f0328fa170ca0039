// Which tiles a view is drawn from, and how their columns become pixels.

import { COLUMNS, MOST_LEVEL } from "./tile.js";

/// Returns the level whose columns are between 0.7 and 1.4 pixels wide.
export function levelFor(endNs, nsPerPixel) {
  const level = Math.round(Math.log2(endNs / (COLUMNS * nsPerPixel)));
  return Math.min(Math.max(level, 0), MOST_LEVEL);
}

/// The tiles of one frame. A segment draws the pixels [x0, x1) from `tile`: column c is at pixel
/// a + b * c.
export class Segments {
  list = [];

  /// `offset` is the first pixel's place on the whole axis, in pixels; it is an integer, so that a
  /// box keeps its width in pixels while the view is moved.
  place(source, offset, nsPerPixel, width) {
    const { end_ns: endNs } = source.layout;
    this.list.length = 0;
    this.level = levelFor(endNs, nsPerPixel);
    const count = 2 ** this.level, tilePixels = endNs / count / nsPerPixel;
    this.first = Math.min(Math.max(Math.floor(offset / tilePixels), 0), count - 1);
    const last = Math.ceil((offset + width) / tilePixels) - 1;
    this.last = Math.min(Math.max(last, this.first), count - 1);
    this.isComplete = true;
    for (let index = this.first; index <= this.last; ++index) {
      const found = source.best(this.level, index);
      if (!found) {
        this.isComplete = false;
        continue;
      }
      this.isComplete &&= found.isEnough;
      const x0 = Math.max(0, Math.round(index * tilePixels - offset));
      const x1 = Math.min(width, Math.round((index + 1) * tilePixels - offset));
      if (x1 > x0) this.#add(found, x0, x1, offset, endNs / nsPerPixel);
    }
    return this;
  }

  #add(found, x0, x1, offset, axisPixels) {
    const last = this.list.at(-1);
    if (last && last.tile === found.tile && last.x1 === x0) {
      last.x1 = x1;
      return;
    }
    const pixels = axisPixels / 2 ** found.level;
    const a = found.index * pixels - offset;
    this.list.push({ tile: found.tile, a, b: pixels / COLUMNS, x0, x1 });
  }

  at(x) {
    return this.list.find((segment) => x >= segment.x0 && x < segment.x1) ?? null;
  }
}
