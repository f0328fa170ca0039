// Mouse, wheel and fingers on the canvas.

import { RULER_HEIGHT } from "./drawing.js";

const DRAG_PIXELS = 4;
const WHEEL_LINE = 16;

/// `timeline` gives: canvas, view, timeAt(x), showRange(begin, end, isFinal), hoverAt(x, y),
/// leave(), click(x, y), doubleClick(x, y), scrollBy(pixels), canScroll, canScrollBy(pixels).
export class Pointer {
  #fingers = new Map();
  #drag = null;
  #pinch = null;

  constructor(timeline) {
    this.timeline = timeline;
    const { canvas } = timeline;
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#cancel(event));
    canvas.addEventListener("pointerleave", () => timeline.leave());
    canvas.addEventListener("dblclick", (event) =>
      timeline.doubleClick(event.offsetX, event.offsetY));
  }

  #wheel(event) {
    const { timeline } = this, { view } = timeline;
    const unit = event.deltaMode === 1 ? WHEEL_LINE : event.deltaMode === 2 ? 400 : 1;
    const x = event.deltaX * unit, y = event.deltaY * unit;
    const perPixel = view.span / Math.max(1, timeline.width);
    const isScroll = timeline.canScroll && !event.ctrlKey && !event.metaKey && !event.shiftKey &&
      Math.abs(y) >= Math.abs(x);
    // At the end of the lanes the page scrolls on.
    if (isScroll && !timeline.canScrollBy(y)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(x) > Math.abs(y)) {
      view.pan((event.shiftKey && x === 0 ? y : x) * perPixel);
    } else if (!isScroll) {
      // A pinch on a touchpad comes as small steps with ctrl.
      const strength = event.ctrlKey && Math.abs(y) < 30 ? 0.01 : 0.002;
      view.zoom(timeline.timeAt(event.offsetX), Math.exp(-y * strength));
    } else {
      timeline.scrollBy(y);
    }
  }

  #down(event) {
    if (event.button !== 0) return;
    const { timeline } = this;
    timeline.canvas.focus({ preventScroll: true });
    timeline.view.rest();
    this.#fingers.set(event.pointerId, event);
    timeline.canvas.setPointerCapture(event.pointerId);
    if (this.#fingers.size === 2) {
      this.#drag = null;
      this.#startPinch();
      return;
    }
    const isRange = event.shiftKey || event.offsetY < RULER_HEIGHT;
    this.#drag = { isRange, isMoved: false, x: event.offsetX, y: event.offsetY,
                   startX: event.offsetX, begin: timeline.timeAt(event.offsetX) };
  }

  #move(event) {
    const { timeline } = this, drag = this.#drag;
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, event);
    if (this.#pinch) {
      this.#movePinch();
      return;
    }
    if (!drag) {
      if (event.pointerType !== "touch") timeline.hoverAt(event.offsetX, event.offsetY);
      return;
    }
    const moved = Math.max(Math.abs(event.offsetX - drag.startX), Math.abs(event.offsetY - drag.y));
    if (!drag.isMoved && moved < DRAG_PIXELS) return;
    drag.isMoved = true;
    if (drag.isRange) {
      timeline.showRange(drag.begin, timeline.timeAt(event.offsetX), false);
      return;
    }
    timeline.view.pan((drag.x - event.offsetX) * timeline.view.span / Math.max(1, timeline.width));
    // Fingers scroll by the browser, a mouse by us.
    if (event.pointerType !== "touch") timeline.scrollBy(drag.y - event.offsetY);
    drag.x = event.offsetX;
    drag.y = event.offsetY;
  }

  #up(event) {
    const drag = this.#drag;
    this.#cancel(event);
    if (!drag) return;
    if (!drag.isMoved) {
      this.timeline.click(event.offsetX, event.offsetY);
    } else if (drag.isRange) {
      this.timeline.showRange(drag.begin, this.timeline.timeAt(event.offsetX), true);
    }
  }

  #cancel(event) {
    this.#fingers.delete(event.pointerId);
    this.#drag = null;
    this.#pinch = null;
  }

  #twoFingers() {
    const [a, b] = [...this.#fingers.values()];
    return { middle: (a.offsetX + b.offsetX) / 2,
             distance: Math.max(20, Math.abs(a.offsetX - b.offsetX)) };
  }

  #startPinch() {
    const { middle, distance } = this.#twoFingers(), { view } = this.timeline;
    this.#pinch = { at: this.timeline.timeAt(middle), distance, span: view.span };
  }

  /// Keeps the time that was between the fingers between them.
  #movePinch() {
    if (this.#fingers.size < 2) return;
    const { middle, distance } = this.#twoFingers(), { view } = this.timeline, pinch = this.#pinch;
    const span = pinch.span * pinch.distance / distance;
    const from = pinch.at - middle / Math.max(1, this.timeline.width) * span;
    view.set(from, from + span);
  }
}
