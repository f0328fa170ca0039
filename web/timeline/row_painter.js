// Turns the boxes of a lane into one row of pixels. This is the inner loop of a frame: it makes no
// objects, and what it leaves for others (texts, parts of collectives) is in arrays that are
// reused.

import { COLOUR, SHADES } from "./palette.js";
import { BOX_WORDS, COLUMNS, NO_NAME } from "./tile.js";

const WIDTH = SHADES + 1;
/// Least shade of a box that is narrower than a pixel, so that a lone one can be seen.
const LEAST_SHADE = 7;
const STRIPE_PERIOD = 6;
const KIND_COLOUR = { exposed: COLOUR.exposed, communication: COLOUR.communication,
                      copy: COLOUR.copy, range: COLOUR.range, call: COLOUR.call };
const MOST_PARTS = 4096;

/// Boxes that were found while painting, in columns of numbers.
export class Found {
  constructor(capacity) {
    this.capacity = capacity;
    this.x0 = new Int32Array(capacity);
    this.x1 = new Int32Array(capacity);
    this.row = new Int32Array(capacity);
    this.value = new Uint32Array(capacity);
    this.colour = new Uint8Array(capacity);
    this.records = new Uint32Array(capacity);
    this.clear();
  }

  clear() {
    this.size = 0;
  }

  add(x0, x1, row, value, colour, records) {
    if (this.size === this.capacity) return;
    const i = this.size++;
    this.x0[i] = x0;
    this.x1[i] = x1;
    this.row[i] = row;
    this.value[i] = value;
    this.colour[i] = colour;
    this.records[i] = records;
  }
}

export class RowPainter {
  texts = new Found(4096);
  parts = new Found(MOST_PARTS);
  boxes = 0;

  constructor(palette, phases) {
    this.palette = palette;
    this.phases = phases;
    /// Least width in pixels of a box with text, and of a part that is joined with others.
    this.textWidth = 40;
    this.partWidth = 24;
    this.join = 0;
  }

  begin() {
    this.texts.clear();
    this.parts.clear();
    this.boxes = 0;
  }

  /// Paints a row of `pixels` that begins at `base`; `number` is the row's number in what is found.
  paint(pixels, base, row, number, segments, phase) {
    const isOpen = row.isOpen, isExposed = row.kind === "exposed";
    const isPhased = row.kind === "compute", isIteration = row.kind === "iteration";
    const isJoined = row.kind === "communication";
    const fixed = KIND_COLOUR[row.kind] ?? COLOUR.call;
    const { shades, stripe } = this.palette, phases = this.phases;
    // A box that goes on in the next tile is one for texts: it is collected here until it ends.
    let runFirst = -1, runX0 = 0, runX1 = 0;
    let runName = 0, runColour = 0, runRecords = 0, runJoin = 0;
    for (let s = 0; s < segments.length; ++s) {
      const { tile, a, b, x0, x1 } = segments[s];
      const start = tile.starts[row.lane];
      if (start < 0) continue;
      const { floats, words } = tile, count = tile.counts[row.lane];
      for (let i = tile.firstAfter(row.lane, (x0 - a) / b); i < count; ++i) {
        const at = start + BOX_WORDS * i;
        const left = a + floats[at] * b;
        if (left >= x1) break;
        ++this.boxes;
        const right = a + floats[at + 1] * b, name = words[at + 3], first = words[at + 4];
        const colour = isPhased ? (name === NO_NAME ? COLOUR.several : phases[name])
                     : isIteration ? COLOUR.iteration + (first & 1) : fixed;
        let from = Math.round(left), to = Math.round(right);
        if (from < x0) from = x0;
        if (to > x1) to = x1;
        const busy = (floats[at + 2] * SHADES + 0.5) | 0;
        if (to <= from) {
          const place = base + (from < x1 ? from : x1 - 1);
          pixels[place] = shades[colour * WIDTH + (busy > LEAST_SHADE ? busy : LEAST_SHADE)];
          continue;
        }
        const length = to - from, shade = shades[colour * WIDTH + (busy > 3 ? busy : 3)];
        // A gap of a pixel tells neighbours apart.
        const ends = floats[at + 1] < COLUMNS && right <= x1;
        const limit = base + (ends && length > 3 ? to - 1 : to);
        for (let p = base + from; p < limit; ++p) pixels[p] = shade;
        if (isExposed && length > 3) {
          for (let p = from; base + p < limit; ++p)
            if ((p + phase) % STRIPE_PERIOD < 2) pixels[base + p] = stripe;
        }
        if (!isOpen) continue;
        const join = words[at + 6];
        if (first === runFirst && from <= runX1 + 1) {
          runX1 = to;
          continue;
        }
        if (runFirst >= 0)
          this.#keep(runX0, runX1, number, runName, runColour, runRecords, runJoin, isJoined);
        if (ends && length < this.textWidth && !(isJoined && join && join === this.join)
            && length < this.partWidth) {
          runFirst = -1;
          continue;
        }
        runFirst = first;
        runX0 = from;
        runX1 = to;
        runName = name;
        runColour = colour;
        runRecords = words[at + 5];
        runJoin = join;
      }
    }
    if (runFirst >= 0)
      this.#keep(runX0, runX1, number, runName, runColour, runRecords, runJoin, isJoined);
  }

  #keep(x0, x1, row, name, colour, records, join, isJoined) {
    // The stripes of exposed stretches would make a text hard to read.
    const isTexted = colour !== COLOUR.exposed;
    if (isTexted && x1 - x0 >= this.textWidth) this.texts.add(x0, x1, row, name, colour, records);
    if (isJoined && join && (x1 - x0 >= this.partWidth || join === this.join))
      this.parts.add(x0, x1, row, join, colour, records);
  }
}
