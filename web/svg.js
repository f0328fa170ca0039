// <hk-plot>: shows a drawing of the daemon (or an SVG element of the page) with tooltips, zoom and
// a selected trial. The frame has one stop in the tab order; in it the arrow keys move between
// trials.
//
// Keys: arrows, Home, End: another mark; Enter: select its trial; Escape: deselect; + − 0: zoom;
// Shift with arrows: pan. The wheel zooms once the plot has the focus, and always with Ctrl, so
// that a plot does not catch a reader who scrolls past it.

import { addStyle, h, replace } from "./dom.js";
import { readDrawing } from "./svg_document.js";
import { annotate, markAt, placeOf, stopsOf } from "./svg_marks.js";
import { Zoom } from "./svg_zoom.js";

await addStyle(new URL("./plot.css", import.meta.url));

let plots = 0;

/// Returns an <hk-plot> of `source`, the text of a document or an SVG element. Options: name (what
/// the drawing shows, for those who do not see it; otherwise its title), filename (of the
/// download), zoom (false: without), selected (number of a trial), onselect(trial or null),
/// hint(trial): text for a mark without one, ondraw(plot): called when a drawing was put in.
export function plot(source, options = {}) {
  const element = document.createElement("hk-plot");
  element.options = options;
  element.show(source);
  return element;
}

class Plot extends HTMLElement {
  options = {};
  selected = null;
  /// The mark whose tooltip is shown, and the one that the arrow keys have reached.
  at = null;
  stop = null;

  /// Puts in a drawing in place of the one before; zoom and selection stay.
  show(source) {
    if (typeof source === "string" && source === this.source) return;
    const drawing = typeof source === "string" ? readDrawing(source) : source;
    this.source = source;
    if (!this.frame) this.build();
    const width = Number.parseFloat(drawing.getAttribute("width")) || 760;
    const title = annotate(drawing);
    this.drawing = drawing;
    drawing.removeAttribute("width");
    drawing.removeAttribute("height");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", this.options.name ?? title);
    drawing.style.maxWidth = `${Math.round(width * 1.35)}px`;
    drawing.style.minWidth = `${Math.round(width * 0.9)}px`;
    this.frame.setAttribute("aria-label", this.options.name ?? title);
    this.hideTip();
    replace(this.frame, drawing);
    this.zoom.attach(drawing);
    this.select(this.options.selected ?? this.selected);
    this.options.ondraw?.(this);
  }

  build() {
    const id = `plot-keys-${++plots}`;
    this.zoom = new Zoom((scale) => this.zoomed(scale));
    this.frame = h("div", {
      class: "plot-frame", tabindex: "0", role: "group", "aria-describedby": id,
      onkeydown: (event) => this.key(event),
      onwheel: (event) => this.wheel(event),
      onpointerdown: (event) => this.press(event),
      onpointermove: (event) => this.move(event),
      onpointerleave: () => this.hideTip(),
      onblur: () => this.hideTip(),
      onclick: (event) => this.click(event),
    });
    this.tip = h("div", { class: "plot-tip", hidden: true });
    this.said = h("p", { class: "visually-hidden", role: "status" });
    const keys = "Arrow keys move between marks" +
      (this.options.onselect ? ", Enter selects a trial, Escape deselects" : "") +
      (this.hasZoom() ? "; plus, minus and 0 zoom, Shift with arrows pans." : ".");
    this.append(this.bar(), this.frame, this.tip, this.said,
      h("p", { class: "visually-hidden", id }, keys));
  }

  hasZoom() {
    return this.options.zoom !== false;
  }

  bar() {
    const button = (text, label, run) => h("button",
      { type: "button", class: "plot-button", "aria-label": label, title: label, onclick: run },
      text);
    this.whole = button("Whole", "Show the whole plot (0)", () => this.zoom.reset());
    return h("div", { class: "plot-bar" },
      this.hasZoom() && [
        button("+", "Zoom in (+)", () => this.zoom.by(1)),
        button("−", "Zoom out (−)", () => this.zoom.by(-1)),
        this.whole,
      ],
      this.options.filename && h("button", {
        type: "button", class: "plot-button", onclick: () => this.download(),
      }, "Download SVG"));
  }

  zoomed(scale) {
    this.frame.classList.toggle("zoomed", scale > 1);
    this.whole.disabled = scale === 1;
    this.hideTip();
  }

  /// Marks the trial of that number, or none.
  select(trial) {
    this.selected = trial;
    this.options.selected = trial;
    for (const mark of this.drawing.querySelectorAll("[data-trial]")) {
      mark.classList.toggle("selected", trial !== null && Number(mark.dataset.trial) === trial);
    }
    const chosen = this.drawing.querySelectorAll(".selected");
    this.drawing.classList.toggle("has-selection", chosen.length > 0);
    // Later elements lie above earlier ones.
    for (const line of chosen) if (line.localName === "polyline") line.parentNode.append(line);
  }

  /// Draws the trials outside the set of numbers faintly; null: none.
  keep(trials) {
    for (const mark of this.drawing.querySelectorAll("[data-trial]")) {
      mark.classList.toggle("outside", trials !== null && !trials.has(Number(mark.dataset.trial)));
    }
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const turn = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (turn && event.shiftKey && this.hasZoom()) {
      const isAcross = event.key === "ArrowLeft" || event.key === "ArrowRight";
      this.zoom.pan(isAcross ? turn / 10 : 0, isAcross ? 0 : turn / 10);
    } else if (turn) {
      this.go(turn);
    } else if (event.key === "Home" || event.key === "End") {
      this.end(event.key === "End");
    } else if (event.key === "Enter" || event.key === " ") {
      if (!this.at?.dataset.trial) return;
      this.choose(Number(this.at.dataset.trial));
    } else if (event.key === "Escape") {
      this.hideTip();
      if (this.selected !== null) this.choose(null);
    } else if (!this.zoomKey(event.key)) {
      return;
    }
    event.preventDefault();
  }

  zoomKey(key) {
    if (!this.hasZoom()) return false;
    if (key === "+" || key === "=") this.zoom.by(1);
    else if (key === "-" || key === "−") this.zoom.by(-1);
    else if (key === "0") this.zoom.reset();
    else return false;
    return true;
  }

  go(turn) {
    const stops = stopsOf(this.drawing).filter((mark) => !mark.classList.contains("outside"));
    if (stops.length === 0) return;
    let from = stops.indexOf(this.stop);
    if (from < 0) from = stops.findIndex((mark) => Number(mark.dataset.trial) === this.selected);
    if (from < 0) from = turn > 0 ? -1 : 0;
    this.stop = stops[(from + turn + stops.length) % stops.length];
    this.showTip(this.stop);
    this.said.textContent = this.hintOf(this.at);
  }

  end(isLast) {
    this.stop = stopsOf(this.drawing).at(isLast ? -2 : -1);
    this.go(1);
  }

  hintOf(mark) {
    return mark.dataset.hint ?? this.options.hint?.(Number(mark.dataset.trial)) ??
      `trial ${mark.dataset.trial}`;
  }

  wheel(event) {
    if (!this.hasZoom()) return;
    const isMeant = event.ctrlKey || event.metaKey || this.contains(document.activeElement);
    const isOut = event.deltaY > 0;
    if (!isMeant || event.deltaY === 0 || (isOut && this.zoom.scale === 1)) return;
    event.preventDefault();
    const box = this.drawing.getBoundingClientRect();
    this.zoom.by(Math.min(1, Math.max(-1, -event.deltaY / 100)),
      (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  }

  press(event) {
    this.dragged = false;
    if (event.button !== 0 || !this.hasZoom() || this.zoom.scale === 1) return;
    if (event.target.closest(".brush-area")) return;
    this.from = { x: event.clientX, y: event.clientY };
    this.frame.setPointerCapture(event.pointerId);
    const end = () => {
      this.from = null;
      this.frame.removeEventListener("pointerup", end);
      this.frame.removeEventListener("pointercancel", end);
    };
    this.frame.addEventListener("pointerup", end);
    this.frame.addEventListener("pointercancel", end);
  }

  move(event) {
    if (this.from) {
      const x = event.clientX - this.from.x;
      const y = event.clientY - this.from.y;
      if (!this.dragged && Math.hypot(x, y) < 4) return;
      this.dragged = true;
      const box = this.drawing.getBoundingClientRect();
      this.zoom.pan(-x / box.width, -y / box.height);
      this.from = { x: event.clientX, y: event.clientY };
      return;
    }
    const mark = event.target.closest(".brush-area") ? null : markAt(this.drawing, event);
    if (mark) this.showTip(mark, { x: event.clientX, y: event.clientY });
    else if (this.at) this.hideTip();
  }

  click(event) {
    if (this.dragged || event.target.closest(".brush-area")) return;
    const mark = markAt(this.drawing, event);
    if (!mark) return;
    this.showTip(mark, { x: event.clientX, y: event.clientY });
    const trial = mark.dataset.trial;
    if (trial) this.choose(Number(trial) === this.selected ? null : Number(trial));
  }

  choose(trial) {
    if (!this.options.onselect) return;
    this.select(trial);
    this.options.onselect(trial);
  }

  showTip(mark, point = placeOf(mark)) {
    this.at?.classList.remove("at");
    this.at = mark;
    mark.classList.add("at");
    this.tip.textContent = this.hintOf(mark);
    this.tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const room = document.documentElement;
    const left = Math.min(point.x + 12, room.clientWidth - width - 8);
    const above = point.y + 16 + height > room.clientHeight;
    this.tip.style.left = `${Math.max(8, left)}px`;
    this.tip.style.top = `${Math.max(8, above ? point.y - height - 12 : point.y + 14)}px`;
  }

  hideTip() {
    this.at?.classList.remove("at");
    this.at = null;
    this.tip.hidden = true;
  }

  download() {
    const url = URL.createObjectURL(new Blob([this.source], { type: "image/svg+xml" }));
    const link = h("a", { href: url, download: this.options.filename });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

customElements.define("hk-plot", Plot);
