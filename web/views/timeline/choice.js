// Chooses what is laid beside a timeline, and at which iterations the two are aligned.

import { h } from "../../dom.js";
import { durationText, printable } from "../../format.js";

/// Iterations offered by name; of more, a list would be too long to use.
const MOST_OPTIONS = 500;

/// Returns a labelled list of profiles; `onchange` gets a name, or null for none.
export function profileChoice(label, profiles, chosen, onchange) {
  const names = profiles.map(({ profile }) => profile);
  // A profile that is gone is still what the address says.
  if (chosen && !names.includes(chosen)) names.push(chosen);
  return h("label", null, label, h("select", {
    value: chosen ?? "", onchange: (event) => onchange(event.target.value || null) },
    h("option", { value: "" }, "none"),
    names.reverse().map((name) => h("option", { value: name }, printable(name)))));
}

/// Returns a labelled list of a profile's iterations; `onchange` gets an index into them.
export function iterationChoice(label, layout, chosen, onchange) {
  const { iterations } = layout;
  if (iterations.length === 0) return h("span", null, `${label}: it has none`);
  if (iterations.length > MOST_OPTIONS) {
    return h("label", null, label, h("input", { type: "number", min: 0, max: iterations.length - 1,
      value: chosen, onchange: (event) => onchange(event.target.value) }));
  }
  return h("label", null, label, h("select", {
    value: String(chosen), onchange: (event) => onchange(event.target.value) },
    iterations.map(({ step, begin_ns: begin, end_ns: end }, i) =>
      h("option", { value: String(i) }, `${step} (${durationText(end - begin)})`))));
}

/// Returns the time of `other` that is at time 0 of `main`, so that these iterations begin
/// together.
export function alignedOffset(main, at, other, otherAt) {
  return (other.iterations[otherAt]?.begin_ns ?? 0) - (main.iterations[at]?.begin_ns ?? 0);
}
