// The words and tables beside the lanes: a box's details, and the figures of a range.

import { h } from "../dom.js";
import { bytesText, countText, durationText, percentText, printable } from "../format.js";
import { table } from "../table.js";
import { titleOf } from "./lane_layout.js";
import { placeText } from "./ruler.js";

function facts(pairs) {
  return h("dl", { class: "hkt-facts" }, pairs.filter(([, value]) => value !== null)
    .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/// Time between two moments of which the first may be unknown.
function waitText(before, after) {
  return before === undefined || before === null ? null : durationText(Math.max(0, after - before));
}

/// Returns the text of a number that may be unknown.
function textOf(value) {
  return value === undefined || value === null ? null : String(value);
}

/// Says a box in one line, for those who hear the page.
export function sayRecord(record) {
  return `${printable(record.name)}, ${record.kind} of rank ${record.rank}, ` +
    `${durationText(record.end_ns - record.begin_ns)} from ${placeText(record.begin_ns, 1000)}`;
}

/// Returns the details of a record. actions: {goTo(partner), zoomTo(), mark(), close()}.
export function recordPanel(record, layout, selection, actions) {
  const lane = layout.lanes[selection.lane];
  const isPart = (record.partners?.length ?? 0) > 1;
  return h("section", { class: "hkt-panel", "aria-label": "Details of the selected box" },
    h("div", { class: "hkt-panel-head" },
      h("h2", null, h("bdi", null, printable(record.name))),
      h("button", { type: "button", onclick: actions.zoomTo }, "Zoom to it"),
      h("button", { type: "button", onclick: actions.mark }, "Figures of its time"),
      h("button", { type: "button", onclick: actions.close, "aria-label": "Close the details" },
        "×")),
    facts([
      ["Kind", record.kind], ["Rank", String(record.rank)],
      ["Lane", h("bdi", null, printable(titleOf(lane)))],
      ["Begins at", placeText(record.begin_ns, 100)],
      ["Lasts", durationText(record.end_ns - record.begin_ns)],
      ["Iteration", textOf(record.step)],
      ["Task", textOf(record.task)],
      ["Size", record.bytes ? bytesText(record.bytes) : null],
      [isMessage(record) ? "Message" : "Collective",
       record.collective ? `${record.collective}${numberOf(record)}` : null],
      ["Waited since submitted", waitText(record.submitted_ns, record.begin_ns)],
      ["Waited since ready", waitText(record.ready_ns, record.begin_ns)],
      ["Waited for the send", isPart ? sendWaitText(record) : null],
      ["Arrival skew", isPart ? durationText(record.arrival_skew_ns) : null],
    ]),
    isPart && partnersTable(record, actions));
}

function isMessage(record) {
  return record.collective === "send" || record.collective === "receive";
}

/// Returns how long a receive waited for its send to begin. That a send waits is not known.
function sendWaitText(record) {
  if (record.collective !== "receive") return null;
  const send = record.partners.find((part) => part.rank !== record.rank);
  return send ? waitText(record.begin_ns, send.begin_ns) : null;
}

function numberOf(record) {
  const number = textOf(record.sequence);
  return number === null ? "" : `, number ${number}`;
}

function partnersTable(record, actions) {
  const first = Math.min(...record.partners.map((part) => part.begin_ns));
  const last = Math.max(...record.partners.map((part) => part.begin_ns));
  return table({
    caption: isMessage(record) ? "The message on both ranks" : "The same collective on all ranks",
    key: (part) => `${part.lane}.${part.record}`,
    rows: record.partners,
    columns: [
      { name: "Rank", text: (part) => String(part.rank), sort: (part) => part.rank,
        node: (part) => h("button", { type: "button", class: "link",
                                      onclick: () => actions.goTo(part) }, `rank ${part.rank}`) },
      { name: "Arrives after the first", numeric: true, sort: (part) => part.begin_ns,
        text: (part) => durationText(part.begin_ns - first) },
      ...(isMessage(record) ? [] : [
        { name: "Waits for the last", numeric: true, sort: (part) => last - part.begin_ns,
          text: (part) => durationText(last - part.begin_ns) }]),
      { name: "Lasts", numeric: true, sort: (part) => part.end_ns - part.begin_ns,
        text: (part) => durationText(part.end_ns - part.begin_ns) },
    ] });
}

/// Says that a box holds several records, which only a closer look tells apart.
export function groupPanel(box, name, actions) {
  return h("section", { class: "hkt-panel", "aria-label": "Details of the selected box" },
    h("div", { class: "hkt-panel-head" },
      h("h2", null, `${countText(box.records)} records`, name && [" named ",
        h("bdi", null, printable(name))]),
      h("button", { type: "button", onclick: actions.zoomTo }, "Zoom to them"),
      h("button", { type: "button", onclick: actions.mark }, "Figures of their time"),
      h("button", { type: "button", onclick: actions.close, "aria-label": "Close the details" },
        "×")),
    h("p", null, "They are too short to be told apart at this scale. Zoom in to see each."));
}

const PARTS = [["Compute", "compute_ns"], ["Communication", "communication_ns"],
               ["Exposed", "exposed_ns"], ["Copies", "copy_ns"], ["Idle", "idle_ns"]];

/// Returns the figures of a range as tables, which are the timeline's text alternative.
export function figuresPanel(figures, { isSelected, step, label }) {
  const span = Math.max(1, figures.end_ns - figures.begin_ns);
  // A rank of whose trace nothing is known as work has no idle time.
  const both = (ns) => ns === null ? "–" : `${durationText(ns)} (${percentText(ns / span)})`;
  const range = `${placeText(figures.begin_ns, step)} to ${placeText(figures.end_ns, step)}`;
  return [
    h("h2", null, "Figures of this range", label && [": ", h("bdi", null, printable(label))]),
    h("p", { class: "hkt-range" },
      `${isSelected ? "The selected range" : "What is visible"}: ${range}, ${durationText(span)}`),
    table({
      caption: "Time by rank", rows: figures.ranks, key: (row) => row.rank,
      columns: [
        { name: "Rank", text: (row) => String(row.rank), sort: (row) => row.rank },
        ...PARTS.map(([name, field]) => ({ name, numeric: true, text: (row) => both(row[field]),
                                           sort: (row) => row[field] })),
        { name: "Records", numeric: true, text: (row) => countText(row.records),
          sort: (row) => row.records },
      ] }),
    figures.top.length > 0 && table({
      caption: "What took most time", rows: figures.top, limit: 10,
      key: (row) => `${row.kind} ${row.name}`,
      columns: [
        { name: "Name", text: (row) => row.name, sort: (row) => row.name,
          node: (row) => h("bdi", null, printable(row.name)) },
        { name: "Kind", text: (row) => row.kind, sort: (row) => row.kind },
        { name: "Records", numeric: true, text: (row) => countText(row.records),
          sort: (row) => row.records },
        { name: "Busy", numeric: true, text: (row) => durationText(row.busy_ns),
          sort: (row) => row.busy_ns },
      ] }),
  ];
}
