// The time axis: ticks with units, and the iterations.

import { durationText } from "../format.js";

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const TICK_PIXELS = 92;
/// Width of a character, rather too wide than too narrow.
const CHARACTER_WIDTH = 6.4;
/// Iterations that are closer than this are not marked.
const LEAST_ITERATION = 7;

/// Returns 1, 2 or 5 times a power of ten, at least 1.
export function tickStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

/// Returns {step, base, text(time)}. Where the ticks are close together far from zero, the common
/// part is left out of their texts and is `base`; 0 otherwise.
export function ticksOf(from, to, room) {
  const step = tickStep((to - from) / Math.max(1, room));
  const unitOf = (value) => UNITS.find(([size]) => value >= size) ?? UNITS[3];
  const isFar = Math.max(Math.abs(from), Math.abs(to)) > 400 * step;
  const coarse = 10 ** Math.ceil(Math.log10(Math.max(1, to - from)) + 0.3);
  const base = isFar ? Math.floor(from / coarse) * coarse : 0;
  const [size, unit] = unitOf(Math.max(step, (to - (isFar ? base : from)) / 10));
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const text = (time) => {
    const value = (time - base) / size;
    return `${base && value >= 0 ? "+" : ""}${value.toFixed(digits)} ${unit}`;
  };
  return { step, base, text };
}

/// Returns the exact time with all digits that matter at `step`, such as "12.345 678 s".
export function placeText(time, step) {
  const [size, unit] = UNITS.find(([one]) => Math.abs(time) >= one) ?? UNITS[3];
  const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / Math.max(1, step)))));
  return `${(time / size).toFixed(digits)} ${unit}`;
}

/// Returns what can be said of an iteration, the longest first.
function textsOf({ title, step, begin_ns: begin, end_ns: end }) {
  const name = title ?? `iteration ${step}`;
  return [`${name}, ${durationText(end - begin)}`, name, title ? "" : String(step)];
}

function firstBeginAfter(iterations, time) {
  let low = 0, high = iterations.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (iterations[middle].begin_ns > time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

export class Ruler {
  constructor(palette) {
    this.palette = palette;
    this.marks = new Float64Array(512);
    this.markCount = 0;
  }

  /// Finds the begins of iterations in sight, as device pixels in `marks`.
  findIterations(iterations, frame) {
    this.markCount = 0;
    this.firstMark = 0;
    this.endMark = -1;
    if (iterations.length === 0) return;
    const spread = (iterations.at(-1).end_ns - iterations[0].begin_ns) / iterations.length;
    if (spread / frame.nsPerPixel < LEAST_ITERATION * frame.ratio) return;
    this.firstMark = Math.max(0, firstBeginAfter(iterations, frame.from) - 1);
    for (let i = this.firstMark; i < iterations.length; ++i) {
      const x = Math.round(iterations[i].begin_ns / frame.nsPerPixel - frame.offset);
      if (x > frame.width || this.markCount === this.marks.length) break;
      this.marks[this.markCount++] = x;
    }
    // Where the last one ends no other begins.
    this.endMark = Math.round(iterations.at(-1).end_ns / frame.nsPerPixel - frame.offset);
  }

  /// Draws lines over the lanes where iterations begin.
  drawLines(context, height) {
    context.fillStyle = this.palette.line;
    for (let i = 0; i < this.markCount; ++i) context.fillRect(this.marks[i], 0, 1, height);
    context.fillRect(this.endMark, 0, 1, height);
  }

  draw(context, frame, iterations) {
    const { width, ratio } = frame, height = 36 * ratio, { palette } = this;
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, height);
    context.font = `${Math.round(11 * ratio)}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    this.#drawTicks(context, frame);
    this.#drawIterations(context, frame, iterations);
    context.fillStyle = palette.line;
    context.fillRect(0, height - 1, width, 1);
  }

  #drawTicks(context, frame) {
    const { width, ratio, zero } = frame;
    const from = frame.from - zero, to = frame.to - zero;
    const { step, base, text } = ticksOf(from, to, width / ratio / TICK_PIXELS);
    const y = 9 * ratio;
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = Math.round((time + zero) / frame.nsPerPixel - frame.offset);
      context.fillStyle = this.palette.line;
      context.fillRect(x, 0, 1, 18 * ratio);
      context.fillStyle = this.palette.ink;
      context.fillText(text(time), x + 4 * ratio, y);
    }
    this.baseText = base === 0 ? "" : `from ${placeText(base, step)}`;
  }

  #drawIterations(context, frame, iterations) {
    const { ratio, width } = frame, top = 18 * ratio, y = 27 * ratio;
    for (let i = 0; i < this.markCount; ++i) {
      const iteration = iterations[this.firstMark + i];
      const x = Math.max(this.marks[i], 0);
      const end = Math.round(iteration.end_ns / frame.nsPerPixel - frame.offset);
      if (end < 0) continue;
      context.fillStyle = this.palette.muted;
      context.fillRect(this.marks[i], top, Math.max(1, Math.round(ratio)), 17 * ratio);
      const characters = (Math.min(end, width) - x) / ratio / CHARACTER_WIDTH - 1;
      const text = textsOf(iteration).find((one) => one.length <= characters);
      if (text) context.fillText(text, x + 4 * ratio, y);
    }
  }
}
