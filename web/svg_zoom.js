// Zooms and pans a drawing by its viewBox. The whole drawing is the smallest zoom.

const mostZoom = 24;
const step = 1.35;

export class Zoom {
  constructor(onchange) {
    this.onchange = onchange;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
  }

  /// Takes a drawing. The zoom stays if the drawing has the size of the one before.
  attach(drawing) {
    const [left, top, width, height] = (drawing.getAttribute("viewBox") ?? "0 0 100 100")
      .split(/[\s,]+/).map(Number);
    const same = this.whole && this.whole.width === width && this.whole.height === height;
    this.drawing = drawing;
    this.whole = { left, top, width, height };
    if (same) this.apply();
    else this.reset();
  }

  reset() {
    this.scale = 1;
    this.apply();
  }

  /// Zooms by steps, in (above 0) or out; `x` and `y`, shares of the drawing, stay in place.
  by(steps, x = 0.5, y = 0.5) {
    const before = this.scale;
    this.scale = Math.min(mostZoom, Math.max(1, before * step ** steps));
    const { width, height } = this.whole;
    this.left += x * (width / before - width / this.scale);
    this.top += y * (height / before - height / this.scale);
    this.apply();
  }

  /// Moves what is seen by shares of what is seen.
  pan(x, y) {
    this.left += (x * this.whole.width) / this.scale;
    this.top += (y * this.whole.height) / this.scale;
    this.apply();
  }

  apply() {
    const { left, top, width, height } = this.whole;
    const within = (value, low, high) => Math.min(high, Math.max(low, value));
    this.left = within(this.left, left, left + width - width / this.scale);
    this.top = within(this.top, top, top + height - height / this.scale);
    this.drawing.setAttribute("viewBox", [this.left, this.top, width / this.scale,
      height / this.scale].map((value) => value.toFixed(2)).join(" "));
    this.onchange(this.scale);
  }
}
