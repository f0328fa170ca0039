// Controls of the simulator: a slider with a field for the exact value, and lists for choices.

import { h, setState, setText } from "../../dom.js";
import { knobText, numberText, parseBytes } from "../../format.js";

let made = 0;

/// Positions of a slider and the values that they mean.
export function scaleOf({ low, high, isLogarithmic, step = 1 }) {
  if (!isLogarithmic) return { min: low, max: high, step, at: (value) => value, of: (at) => at };
  // Zero means none; it is one step left of the least value.
  const first = Math.max(low, step), min = Math.log2(first), hasZero = low === 0;
  return {
    min: hasZero ? min - 1 : min, max: Math.log2(high), step: 1,
    at: (value) => value < first ? min - 1 : Math.log2(value),
    of: (at) => hasZero && at < min - 0.5 ? 0 : Math.round(2 ** at),
  };
}

/// Positions in powers of ten, for values with fractions.
export function decades(low, high) {
  return { min: Math.log10(low), max: Math.log10(high), step: "any",
           at: (value) => Math.log10(Math.max(value, low)),
           of: (at) => Number((10 ** at).toPrecision(2)) };
}

/// Returns an element with set(value, isChanged). options: {label, meaning, scale, text(value),
/// parse(text) → value or null, fieldUnit, onchange(value), onreset()}.
export function slider(options) {
  const id = `simulate-${++made}`, { scale } = options;
  const output = h("output", { for: id });
  const range = h("input", { type: "range", id, min: scale.min, max: scale.max, step: scale.step,
    "aria-describedby": options.meaning ? `${id}-meaning` : null,
    oninput: () => {
      refuse(false);
      change(scale.of(Number(range.value)));
    } });
  const field = h("input", { type: "text", class: "exact", autocomplete: "off", spellcheck: "false",
    inputmode: options.fieldUnit === "bytes" ? "text" : "decimal",
    "aria-label": `${options.label}, exact value`, onchange: () => typed() });
  const reset = h("button", { type: "button", class: "link", hidden: true,
    "aria-label": `Reset ${options.label}`, onclick: () => {
      refuse(false);
      options.onreset();
    } }, "reset");
  const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
  const element = h("div", { class: "control" },
    h("div", { class: "control-head" }, h("label", { for: id }, options.label), output, reset),
    h("div", { class: "control-row" }, range, field,
      options.fieldUnit && options.fieldUnit !== "bytes" && h("span", null, options.fieldUnit)),
    options.meaning && h("p", { class: "meaning", id: `${id}-meaning` }, options.meaning), trouble);

  function change(value) {
    show(value);
    options.onchange(value);
  }

  function typed() {
    const value = options.parse(field.value);
    refuse(value === null);
    if (value !== null) change(value);
  }

  /// A refused value stays in the field, so that it can be corrected.
  function refuse(isRefused) {
    setState(field, "aria-invalid", isRefused ? "true" : null);
    trouble.hidden = !isRefused;
    setText(trouble, isRefused ? options.refusal : "");
  }

  function show(value) {
    const text = options.text(value);
    if (document.activeElement !== range || scale.of(Number(range.value)) !== value)
      range.value = String(scale.at(value));
    setText(output, text);
    setState(range, "aria-valuetext", text);
    if (document.activeElement !== field && trouble.hidden)
      field.value = options.fieldText?.(value) ?? text;
  }

  element.set = (value, isChanged) => {
    reset.hidden = !isChanged;
    setState(element, "data-changed", isChanged);
    if (value === null || value === undefined) {
      setText(output, "–");
      return;
    }
    show(value);
  };
  return element;
}

/// Where sliders of counts end: beyond what a study searches, but not where a step would not
/// notice.
const BEYOND = 4;

function knobScale(knob) {
  const isSize = knob.unit === "bytes";
  const high = isSize ? knob.high : Math.min(knob.high, (knob.tune_high || knob.high) * BEYOND);
  const isLogarithmic = isSize || Boolean(knob.logarithmic);
  return scaleOf({ low: knob.low, high, isLogarithmic,
                   step: knob.low === 0 && isLogarithmic ? knob.tune_low || 1 : 1 });
}

/// Returns the control of a knob, with set(value, isChanged); onchange(value), onreset().
export function knobControl(knob, { onchange, onreset }) {
  if (knob.kind === "choice") return choice(knob, { onchange, onreset });
  const isSize = knob.unit === "bytes";
  return slider({
    label: knob.name, meaning: knob.meaning, scale: knobScale(knob), onchange, onreset,
    fieldUnit: isSize ? "bytes" : "", text: (value) => knobText(knob.name, value),
    refusal: `Allowed are whole numbers from ${knobText(knob.name, knob.low)} to ` +
      `${knobText(knob.name, knob.high)}${isSize ? ", such as 8MiB" : ""}.`,
    parse: (text) => {
      const value = isSize ? parseBytes(text) : Number(text.trim() || NaN);
      const isAllowed = Number.isInteger(value) && value >= knob.low && value <= knob.high;
      return isAllowed ? value : null;
    } });
}

function choice(knob, { onchange, onreset }) {
  const id = `simulate-${++made}`;
  const select = h("select", { id, "aria-describedby": `${id}-meaning`,
    onchange: () => onchange(select.value) },
    knob.choices.map((one) => h("option", { value: one }, one)));
  const reset = h("button", { type: "button", class: "link", hidden: true,
    "aria-label": `Reset ${knob.name}`, onclick: onreset }, "reset");
  const element = h("div", { class: "control" },
    h("div", { class: "control-head" }, h("label", { for: id }, knob.name), reset),
    h("div", { class: "control-row" }, select),
    h("p", { class: "meaning", id: `${id}-meaning` }, knob.meaning));
  element.set = (value, isChanged) => {
    reset.hidden = !isChanged;
    setState(element, "data-changed", isChanged);
    if (value !== null && value !== undefined) select.value = value;
  };
  return element;
}

/// Returns a slider for a plain number in powers of ten or two.
export function numberControl({ unit, low, high, isWhole, ...options }) {
  return slider({
    ...options, fieldUnit: unit,
    text: (value) => `${numberText(value)}${unit ? " " + unit : ""}`,
    fieldText: (value) => String(value),
    refusal: `Allowed is a ${isWhole ? "whole " : ""}number from ${low} to ${high}.`,
    parse: (text) => {
      const value = Number(text.trim() || NaN);
      return value >= low && value <= high && (!isWhole || Number.isInteger(value)) ? value : null;
    } });
}
