// Brushes drawn on the axes of a drawing of parallel coordinates. A brush takes the values of the
// trials that it covers, so it is as exact as the trials are and needs no scale.

import { h, svgElement } from "../../dom.js";
import { nameElement } from "../../elements.js";
import { pointsOf } from "../../svg_marks.js";
import { brushAround, matches } from "./brush.js";

const halfWidth = 17;
const margin = 4;
/// Movements shorter than this, in units of the drawing, are clicks, which remove the brush.
const shortest = 3;

export class AxisBrushes {
  /// `trials` returns the trials; `onbrush(name, brush or null)` is called when a drag has ended,
  /// `ondrag(name, brush)` during one.
  constructor({ parameters, trials, onbrush, ondrag }) {
    Object.assign(this, { parameters, trials, onbrush, ondrag });
    this.brushes = new Map();
  }

  /// Puts the areas over the axes of a new drawing.
  attach(drawing) {
    this.drawing = drawing;
    this.axes = [];
    this.lines = new Map();
    for (const line of drawing.querySelectorAll("polyline[data-trial]")) {
      this.lines.set(Number(line.dataset.trial), pointsOf(line));
    }
    for (const group of drawing.querySelectorAll("g.axis[data-parameter]")) {
      const line = group.querySelector("line");
      if (line) this.add(group.dataset.parameter, line);
    }
    this.addObjective();
    this.show(this.brushes);
  }

  add(name, line) {
    const x = Number(line.getAttribute("x1"));
    const ys = [Number(line.getAttribute("y1")), Number(line.getAttribute("y2"))];
    this.addArea({ name, x, top: Math.min(...ys), bottom: Math.max(...ys) });
  }

  /// The objective has a bar of colours for an axis; the lines of completed trials end at it.
  addObjective() {
    if (this.axes.length === 0 || this.axes.some(({ name }) => name === "")) return;
    const ends = [...this.lines.values()].filter((points) => points.length > this.axes.length);
    if (ends.length === 0) return;
    const { top, bottom } = this.axes[0];
    this.addArea({ name: "", x: ends[0][this.axes.length].x, top, bottom });
  }

  addArea(axis) {
    axis.index = this.axes.length;
    axis.isChoice = Boolean(this.parameters.find(({ name }) => name === axis.name)?.choices);
    axis.area = svgElement("rect", {
      class: "brush-area", x: axis.x - halfWidth, y: axis.top - margin, width: 2 * halfWidth,
      height: axis.bottom - axis.top + 2 * margin,
      onpointerdown: (event) => this.press(axis, event),
    });
    axis.mark = svgElement("rect", { class: "brush", x: axis.x - 8, width: 16, rx: 2 });
    axis.mark.style.display = "none";
    this.drawing.append(axis.mark, axis.area);
    this.axes.push(axis);
  }

  press(axis, event) {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    axis.area.setPointerCapture(event.pointerId);
    const from = this.place(event).y;
    const covered = (to) => this.covered(axis, Math.min(from, to), Math.max(from, to));
    const move = (moved) => {
      const to = this.place(moved).y;
      this.draw(axis, Math.min(from, to), Math.max(from, to));
      if (Math.abs(to - from) >= shortest) this.ondrag(axis.name, covered(to));
    };
    const end = (last) => {
      axis.area.removeEventListener("pointermove", move);
      axis.area.removeEventListener("pointerup", end);
      axis.area.removeEventListener("pointercancel", end);
      const to = this.place(last).y;
      const isClick = last.type === "pointercancel" || Math.abs(to - from) < shortest;
      this.onbrush(axis.name, isClick ? null : covered(to));
      this.show(this.brushes);
    };
    axis.area.addEventListener("pointermove", move);
    axis.area.addEventListener("pointerup", end);
    axis.area.addEventListener("pointercancel", end);
  }

  /// Returns the point of the drawing under a pointer.
  place(event) {
    const matrix = this.drawing.getScreenCTM().inverse();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
  }

  heightOf(axis, trial) {
    return this.lines.get(trial.number)?.[axis.index]?.y;
  }

  covered(axis, top, bottom) {
    const trials = this.trials().filter((trial) => {
      const y = this.heightOf(axis, trial);
      return y !== undefined && y >= top && y <= bottom;
    });
    return brushAround(trials, axis.name, axis.isChoice);
  }

  draw(axis, top, bottom) {
    axis.mark.style.display = "";
    axis.mark.setAttribute("y", Math.max(axis.top - margin, top).toFixed(1));
    const height = Math.min(axis.bottom + margin, bottom) - Math.max(axis.top - margin, top);
    axis.mark.setAttribute("height", Math.max(2, height).toFixed(1));
  }

  /// Draws each brush around the trials whose values it has.
  show(brushes) {
    this.brushes = brushes;
    for (const axis of this.axes ?? []) {
      const brush = brushes.get(axis.name);
      const heights = brush ? this.trials()
        .filter((trial) => matches(trial, new Map([[axis.name, brush]])))
        .map((trial) => this.heightOf(axis, trial)).filter((y) => y !== undefined) : [];
      axis.mark.style.display = "none";
      if (heights.length === 0) continue;
      this.draw(axis, Math.min(...heights) - margin, Math.max(...heights) + margin);
    }
  }
}

/// Returns inputs for the brush of one axis, for those who do not drag. `set(brush or null)` is
/// called on a change. The element has update(brush).
export function brushField({ name, title, choices, low, high }, set) {
  return choices ? choiceField(name, title, choices, set) : rangeField(title, low, high, set);
}

function rangeField(title, low, high, set) {
  const input = (which, placeholder) => h("input", {
    type: "number", step: "any", placeholder, "aria-label": `${title}, ${which}`,
    onchange: () => set({ low: numberIn(least), high: numberIn(most) }),
  });
  const least = input("at least", low);
  const most = input("at most", high);
  const field = h("fieldset", { class: "brush-field" }, h("legend", null, h("bdi", null, title)),
    least, h("span", { class: "muted" }, "to"), most);
  field.update = (brush) => {
    const texts = [brush?.low ?? "", brush?.high ?? ""].map(String);
    [least, most].forEach((each, i) => {
      if (each !== document.activeElement && each.value !== texts[i]) each.value = texts[i];
    });
    field.classList.toggle("active", Boolean(brush));
  };
  return field;
}

function numberIn(input) {
  return input.value === "" || Number.isNaN(input.valueAsNumber) ? null : input.valueAsNumber;
}

function choiceField(name, title, choices, set) {
  const boxes = choices.map((choice) => h("input", {
    type: "checkbox", value: choice,
    onchange: () => {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      set(chosen.length > 0 ? { values: new Set(chosen) } : null);
    },
  }));
  const field = h("fieldset", { class: "brush-field" }, h("legend", null, h("bdi", null, title)),
    boxes.map((box, i) => h("label", { class: "choice" }, box, " ", nameElement(choices[i]))));
  field.update = (brush) => {
    for (const box of boxes) box.checked = Boolean(brush?.values?.has(box.value));
    field.classList.toggle("active", Boolean(brush));
  };
  return field;
}
