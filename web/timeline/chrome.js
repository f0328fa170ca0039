// The elements of a timeline around its canvas.

import { h, replace } from "../dom.js";
import { printable } from "../format.js";
import { HEAD_HEIGHT } from "./lane_layout.js";
import { HELP, pointerHelp } from "./keys.js";
import { COLOUR, LEGEND } from "./palette.js";

let made = 0;

/// Returns the elements by name. `actions`: zoomIn, zoomOut, all, exposed(backward), help, retry.
export function makeChrome(actions) {
  const id = `hkt-${++made}`;
  const button = (text, label, onclick) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick }, text);
  const parts = {
    label: h("h2", { class: "hkt-label", hidden: true }),
    search: h("div", { class: "hkt-search", role: "search" }),
    legend: h("ul", { class: "hkt-legend", "aria-label": "Colours" }),
    help: h("div", { class: "hkt-help", id: `${id}-help`, hidden: true }),
    brief: h("p", { class: "hkt-brief", id: `${id}-brief` }),
    trouble: h("p", { class: "hkt-trouble", role: "status", hidden: true }),
    corner: h("div", { class: "hkt-corner" }),
    gutter: h("div", { class: "hkt-gutter" }),
    canvas: h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline",
                          "aria-describedby": `${id}-brief` },
              "The table “Figures of this range” says in numbers what is drawn here."),
    tip: h("div", { class: "hkt-tip", hidden: true }),
    said: h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" }),
    panels: h("div", { class: "hkt-panels" }),
    details: h("div", { class: "hkt-details" }),
    figures: h("section", { class: "hkt-panel hkt-figures",
                            "aria-label": "Figures of this range" }),
  };
  parts.helpButton = button("Help", "Keys and gestures", actions.help);
  parts.helpButton.classList.add("hkt-shared");
  parts.helpButton.setAttribute("aria-expanded", "false");
  parts.helpButton.setAttribute("aria-controls", `${id}-help`);
  parts.buttons = h("div", { class: "hkt-buttons" },
    h("span", { class: "hkt-buttons hkt-shared" },
      button("−", "Zoom out (s)", actions.zoomOut), button("+", "Zoom in (w)", actions.zoomIn),
      button("All", "Show all (0)", actions.all)),
    button("‹ exposed", "Previous exposed stretch (p)", () => actions.exposed(true)),
    button("exposed ›", "Next exposed stretch (n)", () => actions.exposed(false)),
    parts.helpButton);
  parts.plot = h("div", { class: "hkt-plot" }, parts.canvas, parts.tip);
  parts.scroll = h("div", { class: "hkt-scroll" },
    h("div", { class: "hkt-side" }, parts.corner, parts.gutter), parts.plot);
  parts.bar = h("div", { class: "hkt-bar" }, parts.label, parts.search, parts.buttons);
  parts.panels.append(parts.details, parts.figures);
  parts.all = [parts.bar, parts.help, parts.trouble, parts.scroll, parts.legend, parts.brief,
               parts.said, parts.panels];
  return parts;
}

/// Says in one line, and in full in `help`, how to move.
export function showHelp(parts, canScroll) {
  const rows = pointerHelp(canScroll);
  const row = ([keys, text]) => h("div", null, h("dt", null, keys), h("dd", null, text));
  replace(parts.brief, rows.slice(0, canScroll ? 4 : 3).map(([keys, text]) => `${keys}: ${text}`)
    .join("; "), ". Keys w s a d as in Perfetto; ? lists all.");
  replace(parts.help, h("h2", null, "Mouse and fingers"), h("dl", null, rows.map(row)),
          h("h2", null, "Keys, when the timeline has the focus"), h("dl", null, HELP.map(row)));
}

/// Shows the colours that the lanes can have.
export function showLegend(parts, layout) {
  const kinds = new Set(layout.lanes.map((lane) => lane.kind));
  const shown = LEGEND.filter(([name]) =>
    kinds.has(name) || (COLOUR[name] <= COLOUR.several && kinds.has("compute")));
  replace(parts.legend, shown.map(([name, text]) =>
    h("li", null, h("span", { class: `hkt-swatch hkt-${name}`, "aria-hidden": "true" }), text)));
}

/// Puts the names of ranks and lanes beside the canvas. `toggle(group)` opens or closes a rank.
export function showGutter(parts, lanes, toggle) {
  const { activeElement } = document;
  const focused = parts.gutter.contains(activeElement) ? activeElement.rank : null;
  const elements = [];
  for (const group of lanes.groups) {
    const button = h("button", {
      type: "button", class: "hkt-rank", "aria-expanded": String(group.isOpen),
      onclick: () => toggle(group),
      style: { top: `${group.y}px`, height: `${HEAD_HEIGHT - 2}px` } },
      h("span", { "aria-hidden": "true" }, group.isOpen ? "▾ " : "▸ "), `rank ${group.rank}`,
      group.host && h("bdi", { class: "hkt-host" }, printable(group.host)));
    button.rank = group.rank;
    elements.push(button);
  }
  for (const row of lanes.rows) {
    if (!row.isOpen) continue;
    elements.push(h("div", { class: `hkt-lane hkt-lane-${row.kind}`, title: printable(row.title),
      style: { top: `${row.y}px`, height: `${row.height}px` } },
      h("bdi", null, printable(row.title))));
  }
  replace(parts.gutter, elements);
  parts.gutter.style.height = `${lanes.height}px`;
  if (focused !== null) elements.find((element) => element.rank === focused)?.focus();
}

/// Shows lines of text beside a point of the plot, towards its middle; null for none. `room`:
/// {width, top, height} of what is seen of the plot.
export function showTip(parts, lines, x, y, room) {
  parts.tip.hidden = lines === null;
  if (lines === null) return;
  replace(parts.tip, lines.map((line, i) => h(i === 0 ? "strong" : "span", null,
                                              h("bdi", null, line))));
  const isLeft = x > room.width * 0.6, isAbove = y > room.height * 0.5;
  const place = [x + (isLeft ? -12 : 12), room.top + y + (isAbove ? -10 : 16)].map(Math.round);
  parts.tip.style.transform = `translate(${place[0]}px, ${place[1]}px) ` +
    `translate(${isLeft ? "-100%" : "0"}, ${isAbove ? "-100%" : "0"})`;
}
