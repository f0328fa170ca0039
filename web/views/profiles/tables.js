// Tables of one profile: its figures, and its ranks.

import { h } from "../../dom.js";
import { badge, longText, nameElement } from "../../elements.js";
import { countText, durationText } from "../../format.js";
import { table } from "../../table.js";
import { grouped, metricOf, metricText } from "./metrics.js";

/// With more ranks than this, their lowest, median and highest values are shown.
const mostRankColumns = 4;

/// Returns the figures of a profile, a table for each group.
export function figuresSection(figures) {
  const names = [...new Set(figures.metrics.map(({ name }) => name))];
  if (names.length === 0) {
    return h("section", null, h("h2", null, "Figures"), h("p", { class: "hint" },
      "The profile has no figures; its notes say why."));
  }
  const job = new Map();
  const ranks = new Map();
  for (const { name, rank, value } of figures.metrics) {
    if (rank === undefined) job.set(name, value);
    else ranks.set(rank, (ranks.get(rank) ?? new Map()).set(name, value));
  }
  const columns = rankColumns([...ranks.keys()].sort((a, b) => a - b), ranks);
  return h("section", { class: "part" }, h("h2", null, "Figures"),
    grouped(names).map(({ group, title, names: those }) => {
      const isOfRanks = those.some((name) => [...ranks.values()].some((each) => each.has(name)));
      const isOfJob = those.some((name) => job.has(name));
      return table({
        caption: title, rows: those, key: (name) => name,
        columns: [figureColumn(group),
          isOfJob && { name: "Job", numeric: true, text: (name) => textOf(name, job.get(name)) },
          isOfRanks && columns].flat().filter(Boolean),
      });
    }));
}

function textOf(name, value) {
  return value === undefined ? "" : metricText(name, value);
}

export function figureColumn() {
  return { name: "Figure", class: "figure", text: (name) => name, node: (name) => [
    h("code", null, name), h("span", { class: "meaning" }, metricOf(name).meaning)] };
}

function rankColumns(numbers, ranks) {
  if (numbers.length <= mostRankColumns) {
    return numbers.map((rank) => ({ name: `Rank ${rank}`, numeric: true,
      text: (name) => textOf(name, ranks.get(rank).get(name)) }));
  }
  const valuesOf = (name) => numbers.map((rank) => ranks.get(rank).get(name))
    .filter((value) => value !== undefined).sort((a, b) => a - b);
  const column = (title, choose) => ({ name: title, numeric: true, text: (name) => {
    const values = valuesOf(name);
    return values.length === 0 ? "" : metricText(name, choose(values));
  } });
  return [column("Lowest rank's", (values) => values[0]), column("Median", median),
    column("Highest rank's", (values) => values.at(-1))];
}

function median(values) {
  const middle = Math.floor(values.length / 2);
  return values.length % 2 === 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Returns the ranks with how well their clocks are known and what is missing.
export function ranksSection(summary) {
  const lost = (count) => (count > 0 ? badge(countText(count), "warning") : countText(count));
  return h("section", null, table({
    caption: "Ranks", rows: summary.ranks, key: ({ rank }) => rank, cards: true,
    columns: [
      { name: "Rank", text: ({ rank }) => rank, sort: ({ rank }) => rank },
      { name: "Host", text: ({ host }) => host, sort: ({ host }) => host,
        node: ({ host }) => nameElement(host) },
      { name: "Records", text: ({ records }) => countText(records), numeric: true,
        sort: ({ records }) => records },
      { name: "Lost", text: ({ dropped }) => countText(dropped), numeric: true,
        sort: ({ dropped }) => dropped, node: ({ dropped }) => lost(dropped),
        hint: "records for which there was no room" },
      { name: "Left out", text: ({ quarantined }) => countText(quarantined), numeric: true,
        sort: ({ quarantined }) => quarantined, node: ({ quarantined }) => lost(quarantined),
        hint: "invalid records" },
      { name: "Clock against rank 0", text: clockText },
      { name: "Trace", text: ({ trace }) => trace ?? "missing", class: "long", node: ({ trace }) =>
        trace === null ? badge("missing", "warning") : h("code", null, longText(trace)) },
    ],
  }));
}

function clockText({ clock_fit: fit }) {
  if (!fit?.method || fit.method === "none") return "not compared";
  if (fit.method === "own") return "the reference";
  return `${fit.method}, within ${durationText(fit.residual_ns)}`;
}
