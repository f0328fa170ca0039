// Draws one timeline: what is where, and in which order. Reads nothing of the page's layout; sizes
// and scrolling are told by the element.

import { boxAt } from "./hit.js";
import { HEAD_HEIGHT } from "./lane_layout.js";
import { LanePainter } from "./lane_painter.js";
import { drawJoins, drawRange, outline } from "./overlay.js";
import { Palette } from "./palette.js";
import { Found } from "./row_painter.js";
import { Ruler } from "./ruler.js";
import { Segments } from "./segments.js";

export const RULER_HEIGHT = 36;
const FRAMES_KEPT = 1000;

export class Drawing {
  frameTimes = new Float64Array(FRAMES_KEPT);
  frames = 0;
  segments = new Segments();
  palette = new Palette();
  frame = { width: 1, height: 1, ratio: 1, from: 0, to: 1, nsPerPixel: 1, offset: 0, shift: 0,
            zero: 0 };
  #partners = new Found(256);

  constructor(canvas) {
    this.canvas = canvas;
    // Opaque: the page below need not be blended in.
    this.context = canvas.getContext("2d", { alpha: false });
    this.ruler = new Ruler(this.palette);
  }

  show(source, lanes) {
    this.source = source;
    this.lanes = lanes;
    this.painter = new LanePainter(this.context, source.layout, this.palette);
  }

  /// Sizes in CSS pixels; the canvas gets one of its own for each of the device's.
  resize(width, height, ratio) {
    const { frame } = this;
    frame.width = Math.max(1, Math.round(width * ratio));
    frame.height = Math.max(1, Math.round(height * ratio));
    frame.ratio = ratio;
    if (this.canvas.width !== frame.width) this.canvas.width = frame.width;
    if (this.canvas.height !== frame.height) this.canvas.height = frame.height;
  }

  /// Draws [from, to) of the axis, scrolled by `scroll` CSS pixels. marks: {selection, hover,
  /// range, zero}.
  draw(from, to, scroll, marks) {
    const began = performance.now(), { frame, lanes } = this;
    frame.nsPerPixel = (to - from) / frame.width;
    frame.offset = Math.round(from / frame.nsPerPixel);
    frame.from = frame.offset * frame.nsPerPixel;
    frame.to = frame.from + frame.width * frame.nsPerPixel;
    frame.shift = Math.round((RULER_HEIGHT - scroll) * frame.ratio);
    frame.zero = marks.zero;
    this.segments.place(this.source, frame.offset, frame.nsPerPixel, frame.width);
    const first = lanes.firstRowAt(scroll);
    const bottom = scroll + frame.height / frame.ratio - RULER_HEIGHT;
    let last = first;
    while (last < lanes.rows.length && lanes.rows[last].y < bottom) ++last;
    this.#drawLanes(first, last, marks);
    this.ruler.draw(this.context, frame, this.source.layout.iterations);
    drawRange(this.context, this.palette, frame, marks.range, RULER_HEIGHT * frame.ratio);
    this.#drawPlace();
    this.frameTimes[this.frames++ % FRAMES_KEPT] = performance.now() - began;
  }

  #drawLanes(first, last, { selection, hover, range }) {
    const { context, frame, lanes, palette, painter } = this;
    context.fillStyle = palette.lane;
    context.fillRect(0, 0, frame.width, frame.height);
    context.fillStyle = palette.surface;
    for (const group of lanes.groups) {
      const y = Math.round(group.y * frame.ratio) + frame.shift;
      if (y > frame.height) break;
      if (y + group.height * frame.ratio >= 0)
        context.fillRect(0, y, frame.width, Math.round((HEAD_HEIGHT - 2) * frame.ratio));
    }
    this.ruler.findIterations(this.source.layout.iterations, frame);
    this.ruler.drawLines(context, frame.height);
    painter.paint(lanes, first, last, this.segments.list, {
      width: frame.width, ratio: frame.ratio, shift: frame.shift, join: hover?.join ?? 0,
      phase: ((frame.offset % 6) + 6) % 6 });
    const strong = [hover?.join ?? 0, selection?.join ?? 0].filter((join) => join > 0);
    drawJoins(context, palette, painter.rows.parts, lanes, frame, strong);
    if (selection?.partners) this.#drawPartners(selection.partners);
    drawRange(context, palette, frame, range, frame.height);
    painter.label(lanes, frame.shift);
    if (hover) outline(context, palette.ink, lanes, frame, hover, 1);
    for (const partner of selection?.partners ?? [])
      outline(context, palette.join, lanes, frame, partner, 2);
    if (selection) outline(context, palette.selection, lanes, frame, selection, 3);
  }

  /// Joins the parts of the selected collective, also those that are too thin for others.
  #drawPartners(partners) {
    const { frame, lanes } = this, found = this.#partners;
    found.clear();
    for (const { lane, begin_ns: begin, end_ns: end } of partners) {
      const row = lanes.rowOfLane.get(lane);
      if (!row) continue;
      const x0 = Math.round(begin / frame.nsPerPixel - frame.offset);
      const x1 = Math.max(x0 + 1, Math.round(end / frame.nsPerPixel - frame.offset));
      const held = (x) => Math.min(Math.max(x, -1e6), 1e6);
      found.add(held(x0), held(x1), row.number, 1, 0, 1);
    }
    drawJoins(this.context, this.palette, found, lanes, frame, [1]);
  }

  /// A thin line at the top: which part of the whole is shown.
  #drawPlace() {
    const { context, frame, palette } = this, height = Math.round(3 * frame.ratio);
    const scale = frame.width / this.source.layout.end_ns;
    context.fillStyle = palette.line;
    context.fillRect(0, 0, frame.width, height);
    context.fillStyle = palette.accent;
    const x = Math.min(frame.from * scale, frame.width - 2);
    context.fillRect(x, 0, Math.max(2, (frame.to - frame.from) * scale), height);
  }

  timeAt(x) {
    return (x * this.frame.ratio + this.frame.offset) * this.frame.nsPerPixel;
  }

  /// Returns the box at a point of the canvas, in CSS pixels; null on the ruler and where nothing
  /// is.
  boxAt(x, y, scroll) {
    if (y < RULER_HEIGHT) return null;
    const row = this.lanes.rowAt(y - RULER_HEIGHT + scroll);
    return boxAt(this.segments, row, x * this.frame.ratio, this.frame);
  }

  stats() {
    const kept = Math.min(this.frames, FRAMES_KEPT);
    const times = this.frameTimes.slice(0, kept).sort();
    const at = (share) => kept === 0 ? 0 : times[Math.min(kept - 1, Math.floor(share * kept))];
    return { frames: this.frames, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: at(1),
             boxes: this.painter?.rows.boxes ?? 0, texts: this.painter?.rows.texts.size ?? 0,
             level: this.segments.level ?? 0, isComplete: this.segments.isComplete ?? false };
  }
}
