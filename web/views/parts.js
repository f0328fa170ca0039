// Small pieces that the views of studies and of profiles show.

import { addStyle, h, reconcile, setState } from "../dom.js";
import { badge, longText } from "../elements.js";
import { printable } from "../format.js";

await addStyle(new URL("../parts.css", import.meta.url));

const tones = {
  running: "accent", finished: "good", complete: "good", interrupted: "warning", failed: "bad",
  timeout: "bad",
};

export function stateNode(state) {
  return badge(state, tones[state] ?? "");
}

/// Returns a command, cut by the style sheet where it is too long; the whole is in its title.
export function commandNode(command) {
  const text = command.length > 0 ? printable(command.join(" ")) : "–";
  return h("code", { class: "command", title: text.slice(0, 2000) }, text);
}

/// Returns links as tabs; update(tabs, chosen) sets them, each {id, title, href}.
export function tabBar(label) {
  const bar = h("nav", { class: "tabs", "aria-label": label });
  bar.update = (tabs, chosen) => {
    reconcile(bar, tabs, ({ id }) => id, ({ title }) => h("a", { class: "tab" }, title),
      (link, { id, href }) => {
        setState(link, "href", href);
        setState(link, "aria-current", id === chosen ? "page" : null);
      });
    const link = bar.querySelector("[aria-current]");
    const right = link ? link.offsetLeft + link.offsetWidth - bar.offsetLeft : 0;
    if (right > bar.scrollLeft + bar.clientWidth) bar.scrollLeft = right - bar.clientWidth + 40;
  };
  return bar;
}

/// Returns a bar of the length of `share`, 0 to 1; what it shows is said by the text beside it.
export function bar(share, kind) {
  const fill = h("span", { class: `bar-fill bar-${kind}` });
  fill.style.width = `${(100 * Math.min(1, Math.max(0, share || 0))).toFixed(2)}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, fill);
}

/// Returns notes of the daemon as a list, or null without any.
export function notesNode(notes, title = "Notes") {
  if (!notes?.length) return null;
  return h("section", { class: "notes" }, h("h2", null, title),
    h("ul", null, notes.map((note) => h("li", null, longText(note)))));
}

/// Returns a command to copy, as in "To go on with it: hocket tune --resume".
export function verbHint(text, command) {
  return h("p", { class: "hint" }, text, " ", h("code", null, command));
}

/// Reads and writes the column by which a table is sorted: sort=Gain or sort=-Gain.
export function sortIn(query) {
  const text = query.get("sort");
  if (!text) return undefined;
  const descending = text.startsWith("-");
  return { column: descending ? text.slice(1) : text, descending };
}

export function sortQuery(sort) {
  return { sort: sort ? (sort.descending ? "-" : "") + sort.column : null };
}
