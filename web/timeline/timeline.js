// <hk-timeline>: draws the timeline of a source (tile_source.js, memory_source.js) and lets the
// reader move in it. A view of another timeline can be shared, for two on one scale.

import { replace, setState, setText } from "../dom.js";
import { durationText, printable } from "../format.js";
import { makeChrome, showGutter, showHelp, showLegend, showTip } from "./chrome.js";
import { Drawing, RULER_HEIGHT } from "./drawing.js";
import { forget, inFrame } from "./frame.js";
import { Hover } from "./hover.js";
import { pressKey } from "./keys.js";
import { Lanes } from "./lane_layout.js";
import { Moves } from "./moves.js";
import { Pointer } from "./pointer.js";
import { placeText } from "./ruler.js";
import { Search } from "./search.js";
import { Selection } from "./selection.js";
import { TimeView } from "./time_view.js";

const REST_MS = 300;
const MOST_RATIO = 2;

export class HkTimeline extends HTMLElement {
  #draw = () => this.#drawNow();
  #restTimer = 0;
  #scroll = 0;
  #height = 0;
  #offView = () => {};
  #watch = null;
  #scheme = matchMedia("(prefers-color-scheme: dark)");
  #readColours = () => {
    this.drawing.palette.read(this);
    this.redraw();
  };
  source = null;
  width = 1;
  /// Time of this timeline that is at time 0 of the view.
  offsetNs = 0;
  /// Time that the axis calls 0.
  zeroNs = 0;

  constructor() {
    super();
    this.moves = new Moves(this);
    this.parts = makeChrome({
      zoomIn: () => this.view.zoom(this.#middle(), 2, { smooth: true }),
      zoomOut: () => this.view.zoom(this.#middle(), 0.5, { smooth: true }),
      all: () => this.view.all(), exposed: (backward) => this.moves.findExposed(backward),
      help: () => this.toggleHelp() });
    this.canvas = this.parts.canvas;
    this.drawing = new Drawing(this.canvas);
    this.selection = new Selection(this, this.parts);
    this.hover = new Hover(this, this.parts);
    this.search = new Search(this, this.parts.search);
    this.pointer = new Pointer(this);
    this.parts.scroll.addEventListener("scroll", () => {
      this.#scroll = this.parts.scroll.scrollTop;
      this.redraw();
    }, { passive: true });
    this.canvas.addEventListener("keydown", (event) => {
      if (this.source && pressKey(this.moves, event)) event.preventDefault();
    });
  }

  connectedCallback() {
    // A view may have put some parts elsewhere.
    if (!this.hasChildNodes()) this.append(...this.parts.all.filter((part) => !part.parentNode));
    this.#watch = new ResizeObserver(() => this.#measure());
    this.#watch.observe(this.parts.scroll);
    this.#watch.observe(this.parts.plot);
    this.#scheme.addEventListener("change", this.#readColours);
    this.drawing.palette.read(this);
  }

  disconnectedCallback() {
    this.#watch.disconnect();
    this.#scheme.removeEventListener("change", this.#readColours);
    this.#offView();
    forget(this.#draw);
    clearTimeout(this.#restTimer);
  }

  /// Shows an opened source. Events: "view" when the view rests, with {from, to}; "mark" when
  /// another box or range is selected. options: view (shared TimeView), offsetNs, zeroNs, label.
  /// The element must be in the document. What was selected before is no longer.
  show(source, { view = this.view ?? new TimeView(), offsetNs = 0, zeroNs = 0, label = "" } = {}) {
    if (this.source) this.source.onchange = () => {};
    this.selection.clear();
    this.#offView();
    this.source = source;
    this.view = view;
    this.offsetNs = offsetNs;
    this.zeroNs = zeroNs;
    this.label = label;
    this.#offView = view.onChange(() => this.#moved());
    source.onchange = () => this.#sourceChanged();
    this.lanes = new Lanes(source.layout);
    this.drawing.show(source, this.lanes);
    this.parts.label.hidden = label === "";
    setText(this.parts.label, printable(label));
    setState(this.canvas, "aria-label", `Timeline${label ? ` of ${printable(label)}` : ""}, ` +
             `${source.layout.ranks.length} ranks, ${source.layout.lanes.length} lanes`);
    showLegend(this.parts, source.layout);
    this.#arrange();
    this.#sourceChanged();
    this.#moved();
  }

  /// Durations in ms of the last frames that were drawn; a ring, in no order.
  get frameTimes() {
    return this.drawing.frameTimes;
  }

  stats() {
    return { ...this.drawing.stats(), ...(this.source?.stats ?? {}) };
  }

  redraw() {
    if (this.source) inFrame(this.#draw);
  }

  get canScroll() {
    return this.lanes ? this.lanes.height + RULER_HEIGHT > this.#height + 1 : false;
  }

  canScrollBy(pixels) {
    const most = this.lanes.height + RULER_HEIGHT - this.#height;
    return pixels < 0 ? this.#scroll > 0 : this.#scroll < most - 1;
  }

  /// Returns the view's time at x, in CSS pixels of the canvas.
  timeAt(x) {
    return this.view.from + x / this.width * this.view.span;
  }

  /// Returns what is visible, in this timeline's time.
  visible() {
    return [this.view.from + this.offsetNs, this.view.to + this.offsetNs];
  }

  #middle() {
    return (this.view.from + this.view.to) / 2;
  }

  /// Returns the view's time under the pointer, or in the middle if it is elsewhere.
  focusTime() {
    return this.hover.at ? this.timeAt(this.hover.at.x) : this.#middle();
  }

  reveal(begin, end, lane) {
    this.view.reveal(begin - this.offsetNs, end - this.offsetNs);
    const row = this.lanes.rowOfLane.get(lane);
    if (!row) return;
    if (!row.isOpen) this.#toggle(row.group);
    const { y, height } = this.lanes.rowOfLane.get(lane), room = this.#height - RULER_HEIGHT;
    if (y < this.#scroll || y + height > this.#scroll + room)
      this.parts.scroll.scrollTop = y - room / 2;
  }

  zoomTo(begin, end) {
    const margin = Math.max((end - begin) * 0.1, 20);
    this.view.goTo(begin - margin - this.offsetNs, end + margin - this.offsetNs);
  }

  scrollBy(pixels) {
    if (pixels) this.parts.scroll.scrollTop += pixels;
  }

  say(text) {
    setText(this.parts.said, text);
  }

  rangeChanged() {
    const { range } = this.selection;
    this.dispatchEvent(new CustomEvent("mark"));
    if (range) this.say(`Range of ${durationText(range.end - range.begin)} selected`);
  }

  selectionChanged() {
    this.dispatchEvent(new CustomEvent("mark"));
  }

  focusCanvas() {
    this.canvas.focus({ preventScroll: true });
  }

  focusSearch() {
    this.search.focus();
  }

  toggleHelp() {
    this.parts.help.hidden = !this.parts.help.hidden;
    setState(this.parts.helpButton, "aria-expanded", String(!this.parts.help.hidden));
  }

  find(query, options) {
    return this.moves.find(query, options);
  }

  // The pointer's actions.

  showRange(begin, end, isFinal) {
    this.selection.setRange(begin + this.offsetNs, end + this.offsetNs, isFinal);
  }

  hoverAt(x, y) {
    this.hover.move({ x, y });
  }

  leave() {
    this.hover.move(null);
  }

  boxAt(x, y) {
    return this.drawing.boxAt(x, y, this.#scroll);
  }

  click(x, y) {
    if (y < RULER_HEIGHT) {
      if (this.selection.range) this.selection.clearRange();
      return;
    }
    this.selection.select(this.boxAt(x, y));
  }

  doubleClick(x, y) {
    const box = this.boxAt(x, y);
    if (box) this.zoomTo(box.begin_ns, box.end_ns);
  }

  #toggle(group) {
    this.lanes.setOpen(group, !group.isOpen);
    this.#arrange();
  }

  #arrange() {
    showGutter(this.parts, this.lanes, (group) => this.#toggle(group));
    this.parts.plot.style.height = `${this.lanes.height + RULER_HEIGHT}px`;
    this.#measure();
  }

  /// Reads the sizes, so that drawing need not.
  #measure() {
    const { scroll, plot } = this.parts;
    const width = plot.clientWidth, height = scroll.clientHeight;
    if (width === 0 || height === 0 || !this.lanes) return;
    this.width = width;
    this.#height = height;
    this.#scroll = scroll.scrollTop;
    this.canvas.style.height = `${height}px`;
    this.drawing.resize(width, height, Math.min(devicePixelRatio || 1, MOST_RATIO));
    showHelp(this.parts, this.canScroll);
    // A new size clears the canvas, and waiting for the next frame would show that.
    forget(this.#draw);
    if (this.source) this.#drawNow();
  }

  #moved() {
    this.redraw();
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => this.#rest(), REST_MS);
  }

  /// Does the work that need not happen while the view moves.
  #rest() {
    const [from, to] = this.visible(), step = (to - from) / 1000;
    if (!this.selection.range) this.selection.ask(0);
    this.say(`${placeText(from - this.zeroNs, step)} to ${placeText(to - this.zeroNs, step)}, ` +
             durationText(to - from));
    this.dispatchEvent(new CustomEvent("view", { detail: { from: this.view.from,
                                                           to: this.view.to } }));
  }

  #sourceChanged() {
    const { error } = this.source, { trouble } = this.parts;
    trouble.hidden = !error;
    if (error) {
      const retry = document.createElement("button");
      retry.type = "button";
      retry.textContent = "Try again";
      retry.addEventListener("click", () => this.source.retry());
      replace(trouble, "A part is shown coarser than it is: ", error.message, " ", retry);
    }
    this.redraw();
  }

  #drawNow() {
    if (!this.source || this.#height === 0) return;
    const { drawing, selection } = this, [from, to] = this.visible();
    drawing.draw(from, to, this.#scroll, { selection: selection.box, hover: this.hover.box,
                                           range: selection.range, zero: this.zeroNs });
    const { level, first, last } = drawing.segments;
    this.source.want(level, first, last);
    setText(this.parts.corner, drawing.ruler.baseText);
    this.hover.update({ width: this.width, top: this.#scroll, height: this.#height });
  }
}

if (!customElements.get("hk-timeline")) customElements.define("hk-timeline", HkTimeline);
