// Configurations side by side, one knob a row.

import { get } from "../../api.js";
import { h } from "../../dom.js";
import { compareConfigs, isSame, knobText, printable } from "../../format.js";
import { table } from "../../table.js";

let asked = null;

/// Returns {list, defaults: {name: value}, byName: Map} of the scheduler's knobs, asked once.
export function knobs() {
  asked ??= get("/v1/knobs").then(({ knobs: list }) => ({
    list,
    defaults: Object.fromEntries(list.map((knob) => [knob.name, knob.default])),
    byName: new Map(list.map((knob) => [knob.name, knob])),
  }));
  asked.catch(() => { asked = null; });
  return asked;
}

/// Returns "credit_bytes 4 MiB → 8 MiB, order fifo → static"; "the same" without a difference.
export function changeText(before, after, { defaults }) {
  const changes = compareConfigs(before, after, defaults)
    .filter((knob) => !isSame(knob.before, knob.after));
  return changes.map(({ name, before: old, after: young }) => {
    if (old === undefined) return `${name} ${knobText(name, young)}`;
    if (young === undefined) return `no ${name}`;
    return `${name} ${knobText(name, old)} → ${knobText(name, young)}`;
  }).join(", ") || "the same";
}

/// Returns a table of two configurations; null stands for none. options: caption, before and after:
/// {name, config}, known: knobs(), onlyChanges.
export function settingsTable({ caption, before, after, known, onlyChanges = false }) {
  const all = compareConfigs(before.config, after.config, known.defaults);
  const rows = onlyChanges ? all.filter((row) => !isSame(row.before, row.after)) : all;
  const isChanged = (row) => !isSame(row.before, row.after);
  return table({
    caption, rows, key: (row) => row.name,
    mark: (row) => (isChanged(row) && !onlyChanges ? "changed" : null),
    columns: [
      { name: "Knob", text: (row) => row.name, node: (row) => knobNode(row.name, known) },
      { name: before.name, text: (row) => knobText(row.name, row.before),
        node: (row) => valueNode(row.name, row.before) },
      { name: after.name, text: (row) => knobText(row.name, row.after),
        node: (row) => [h(isChanged(row) ? "strong" : "span", null,
                          valueNode(row.name, row.after)),
                        isChanged(row) && h("span", { class: "visually-hidden" }, " (changed)")] },
    ],
  });
}

/// Returns a table of one configuration beside the defaults.
export function configTable({ caption, config, known }) {
  const own = new Set(Object.keys(config ?? {}));
  return table({
    caption, key: (row) => row.name,
    rows: compareConfigs(known.defaults, config, known.defaults).filter((row) =>
      own.has(row.name) || row.name.includes(".") || !isSame(row.before, row.after)),
    columns: [
      { name: "Knob", text: (row) => row.name, node: (row) => knobNode(row.name, known) },
      { name: "Value", text: (row) => knobText(row.name, row.after),
        node: (row) => valueNode(row.name, row.after) },
      { name: "Default", text: (row) => knobText(row.name, known.defaults[row.name]) },
    ],
  });
}

/// A short value stays on one line with its unit.
function valueNode(name, value) {
  const text = printable(knobText(name, value));
  return h("bdi", { class: text.length < 24 ? "nowrap" : null }, text);
}

function knobNode(name, known) {
  const meaning = known.byName.get(name)?.meaning;
  // A long name may be broken after an underscore.
  const parts = printable(name).split(/(?<=_)/).map((part, index) => [index > 0 && h("wbr"), part]);
  return h("div", null, h("bdi", { class: "mono" }, parts),
           meaning && h("div", { class: "hint" }, meaning));
}
