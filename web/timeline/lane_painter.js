// Draws the visible lanes. Each lane is one row of pixels, which the canvas stretches to the lane's
// height: that costs the same however many boxes there are. Texts are drawn over it.

import { countText, printable } from "../format.js";
import { Palette } from "./palette.js";
import { RowPainter } from "./row_painter.js";
import { TextFit } from "./text_fit.js";
import { NO_NAME } from "./tile.js";

const TEXT_WIDTH = 40;
const PADDING = 4;
/// No box is wide enough for more.
const MOST_CHARACTERS = 120;

export class LanePainter {
  #strip = new OffscreenCanvas(1, 1);
  #stripContext = this.#strip.getContext("2d", { willReadFrequently: true });
  #image = null;
  #pixels = null;

  constructor(context, layout, palette) {
    this.context = context;
    this.names = layout.names.map((name) => printable(name.slice(0, MOST_CHARACTERS)));
    this.palette = palette;
    this.rows = new RowPainter(palette, Palette.phases(layout.names));
    this.fit = new TextFit(context);
    this.ratio = 0;
  }

  #reserve(width, rows) {
    if (this.#image && this.#image.width === width && this.#image.height >= rows) return;
    this.#image = new ImageData(width, Math.max(rows, 8));
    this.#pixels = new Uint32Array(this.#image.data.buffer);
    this.#strip.width = width;
    this.#strip.height = this.#image.height;
  }

  #setRatio(ratio) {
    if (ratio === this.ratio) return;
    this.ratio = ratio;
    this.font = `${Math.round(11.5 * ratio)}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
    this.context.font = this.font;
    this.fit.clear();
    this.rows.textWidth = TEXT_WIDTH * ratio;
    this.rows.partWidth = 24 * ratio;
  }

  /// Draws the rows [first, last) of `lanes` at device pixels; `shift` is added to their y.
  paint(lanes, first, last, segments, { width, ratio, shift, phase, join }) {
    const rows = last - first, { context } = this;
    this.#setRatio(ratio);
    this.rows.begin();
    this.rows.join = join;
    if (rows <= 0) return;
    this.#reserve(width, rows);
    this.#pixels.fill(0, 0, width * rows);
    for (let i = 0; i < rows; ++i)
      this.rows.paint(this.#pixels, i * width, lanes.rows[first + i], first + i, segments, phase);
    this.#stripContext.putImageData(this.#image, 0, 0, 0, 0, width, rows);
    context.imageSmoothingEnabled = false;
    for (let i = 0; i < rows; ++i) {
      const row = lanes.rows[first + i];
      const y = Math.round(row.y * ratio) + shift;
      context.drawImage(this.#strip, 0, i, width, 1, 0, y, width, Math.round(row.height * ratio));
    }
  }

  /// Draws the texts of what paint() drew.
  label(lanes, shift) {
    const { context, ratio, palette } = this, { texts } = this.rows;
    context.font = this.font;
    context.textBaseline = "middle";
    context.textAlign = "left";
    let colour = -1;
    for (let i = 0; i < texts.size; ++i) {
      const row = lanes.rows[texts.row[i]];
      const room = texts.x1[i] - texts.x0[i] - 2 * PADDING * ratio;
      const text = this.fit.fit(this.#textOf(texts.value[i], texts.records[i]), room);
      if (text === "") continue;
      if (texts.colour[i] !== colour) {
        colour = texts.colour[i];
        context.fillStyle = palette.inks[colour];
      }
      const middle = Math.round((row.y + row.height / 2 + 0.5) * ratio) + shift;
      context.fillText(text, texts.x0[i] + PADDING * ratio, middle);
    }
  }

  #textOf(name, records) {
    if (name === NO_NAME) return `${countText(records)} records`;
    const text = this.names[name] ?? "";
    return records > 1 ? `${text} × ${countText(records)}` : text;
  }
}
