// Small elements that several views show: names of others' making, times, badges, meters.

import { h, setState, setText } from "./dom.js";
import { agoText, countText, dateText, printable, zoneText } from "./format.js";

const LONG = 300;

/// Returns a name that a job or a user chose, on one line, set apart from the direction of the text
/// around it. Long ones are clipped; the title has more of them.
export function nameElement(text, fallback = "(no name)") {
  const shown = printable(text) || fallback;
  return h("bdi", { class: "name", title: shown.length > 40 ? shown.slice(0, 1000) : null }, shown);
}

/// Returns the beginning of a name, for titles and messages that are text only.
export function shortName(text, fallback = "(no name)") {
  const shown = printable(text) || fallback;
  return shown.length > 60 ? shown.slice(0, 59) + "…" : shown;
}

/// Returns a text of others that may be long: the beginning, and a button that shows all of it.
export function longText(text, limit = LONG) {
  const shown = printable(text);
  if (shown.length <= limit) return h("bdi", { class: "text" }, shown);
  const part = h("bdi", { class: "text" }, shown.slice(0, limit) + "…");
  const more = `show all ${countText(shown.length)} characters`;
  const toggle = () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    setText(part, isOpen ? shown.slice(0, limit) + "…" : shown);
    setText(button, isOpen ? more : "show less");
    setState(button, "aria-expanded", String(!isOpen));
  };
  const button = h("button", { type: "button", class: "link", "aria-expanded": "false",
                               onclick: toggle }, more);
  return h("span", { class: "long" }, part, " ", button);
}

function timed(unixNs, text) {
  const date = new Date(unixNs / 1e6);
  if (!(unixNs > 0) || Number.isNaN(date.getTime())) return h("span", null, "–");
  return h("time", { datetime: date.toISOString(),
                     title: `${dateText(unixNs)} ${zoneText(unixNs)}` }, text);
}

/// Returns a time in the reader's zone.
export function timeElement(unixNs) {
  return timed(unixNs, dateText(unixNs));
}

/// Returns "3 min ago" with the time as its title.
export function sinceElement(unixNs) {
  return timed(unixNs, agoText(Date.now() * 1e6 - unixNs));
}

/// Returns a word in a frame; kind: "good", "bad", "warning", "accent" or "" (plain).
export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}`.trim() }, text);
}

/// Returns a bar of `share` with `text` beside it; update(share, text) changes it.
export function meter(label) {
  const fill = h("span", { class: "meter-fill" });
  const bar = h("span", { class: "meter", role: "meter", "aria-label": label, "aria-valuemin": 0,
                          "aria-valuemax": 100 }, fill);
  const text = h("span", { class: "meter-text" });
  const element = h("span", { class: "metered" }, bar, text);
  element.update = (share, words) => {
    const percent = Math.round(1000 * Math.min(Math.max(share, 0), 1)) / 10;
    fill.style.width = `${percent}%`;
    setState(bar, "aria-valuenow", percent);
    setState(bar, "aria-valuetext", words);
    setState(bar, "data-full", share >= 1);
    setText(text, words);
  };
  return element;
}

/// Returns a description list from [term, content] pairs; pairs that are null are left out.
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([term, content]) =>
    h("div", null, h("dt", null, term), h("dd", null, content))));
}
