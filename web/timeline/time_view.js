// The part of the time axis that is shown. Timelines that are laid side by side share one.

import { beforeFrame, forget } from "./frame.js";

const LEAST_SPAN_NS = 50;
/// Time in which a smooth movement does two thirds of its way.
const EASE_MS = 45;

export class TimeView {
  #listeners = new Set();
  #target = null;
  #last = 0;
  #tick = (now) => this.#step(now);

  constructor() {
    this.begin = 0;
    this.end = 1;
    this.from = 0;
    this.to = 1;
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  get span() {
    return this.to - this.from;
  }

  get isAll() {
    return this.from <= this.begin && this.to >= this.end;
  }

  /// Calls `listener` after each change, until the returned function is called.
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /// Sets the limits of the axis. A view that showed all of it goes on to show all.
  setLimits(begin, end) {
    const showedAll = this.isAll;
    this.begin = begin;
    this.end = Math.max(end, begin + LEAST_SPAN_NS);
    if (showedAll) {
      this.set(this.begin, this.end);
    } else {
      this.set(this.from, this.to);
    }
  }

  /// Shows [from, to), or what is nearest to it within the limits, at once.
  set(from, to) {
    this.#target = null;
    this.#show(...this.#clamped(from, to));
  }

  /// Goes there within a fraction of a second; at once for who wants no motion.
  goTo(from, to) {
    if (this.isStill) {
      this.set(from, to);
      return;
    }
    this.#target = this.#clamped(from, to);
    this.#last = 0;
    beforeFrame(this.#tick);
  }

  zoom(at, factor, { smooth = false } = {}) {
    const [from, to] = this.#aim(smooth);
    // At a limit the point would wander off if the span alone were held back.
    const span = Math.min(Math.max((to - from) / factor, LEAST_SPAN_NS), this.end - this.begin);
    const share = (at - from) / (to - from);
    this.#move(at - share * span, at + (1 - share) * span, smooth);
  }

  pan(by, { smooth = false } = {}) {
    const [from, to] = this.#aim(smooth);
    this.#move(from + by, to + by, smooth);
  }

  all() {
    this.goTo(this.begin, this.end);
  }

  /// Brings [begin, end) into view; zooms only if there is not enough room for it, so that who
  /// jumps from one short stretch to the next keeps the scale.
  reveal(begin, end) {
    const length = end - begin, span = this.span;
    if (length > 0.8 * span) {
      const wanted = length * 1.25;
      this.goTo((begin + end - wanted) / 2, (begin + end + wanted) / 2);
    } else if (begin < this.from + 0.05 * span || end > this.to - 0.05 * span) {
      this.goTo((begin + end - span) / 2, (begin + end + span) / 2);
    }
  }

  /// Stops a movement where it is.
  rest() {
    this.#target = null;
    forget(this.#tick);
  }

  #aim(smooth) {
    return smooth && this.#target ? this.#target : [this.from, this.to];
  }

  #move(from, to, smooth) {
    if (smooth) {
      this.goTo(from, to);
    } else {
      this.set(from, to);
    }
  }

  #clamped(from, to) {
    const whole = this.end - this.begin;
    const span = Math.min(Math.max(to - from, LEAST_SPAN_NS), whole);
    const middle = (from + to) / 2;
    const first = Math.min(Math.max(middle - span / 2, this.begin), this.end - span);
    return [first, first + span];
  }

  #step(now) {
    if (!this.#target) return;
    const passedMs = this.#last ? Math.min(now - this.#last, 100) : 16;
    this.#last = now;
    const share = 1 - Math.exp(-passedMs / EASE_MS);
    const [from, to] = this.#target;
    const next = [this.from + (from - this.from) * share, this.to + (to - this.to) * share];
    const isThere = Math.abs(next[0] - from) + Math.abs(next[1] - to) < (to - from) * 5e-4;
    if (isThere) {
      this.#target = null;
      this.#show(from, to);
      return;
    }
    this.#show(...next);
    beforeFrame(this.#tick);
  }

  #show(from, to) {
    if (from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    for (const listener of this.#listeners) listener();
  }
}
