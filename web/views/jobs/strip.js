// The last iterations of a job as a small chart, drawn anew in place.

import { h, setState, setText, svgElement } from "../../dom.js";
import { durationText } from "../../format.js";

const WIDTH = 200, HEIGHT = 44, PADDING = 4;

function quantile(ordered, share) {
  const at = share * (ordered.length - 1), low = Math.floor(at);
  const high = Math.min(low + 1, ordered.length - 1);
  return ordered[low] + (ordered[high] - ordered[low]) * (at - low);
}

/// Returns {median, low, high, least, most} of times; low and high are quartiles. Null for none.
export function summaryOf(times) {
  if (!times?.length) return null;
  const ordered = [...times].sort((a, b) => a - b);
  return { median: quantile(ordered, 0.5), low: quantile(ordered, 0.25),
           high: quantile(ordered, 0.75), least: ordered[0], most: ordered[ordered.length - 1],
           count: ordered.length };
}

export function spreadText(summary) {
  if (!summary) return "no iteration measured yet";
  return `half within ${durationText(summary.low)} – ${durationText(summary.high)}`;
}

function longSpreadText(summary) {
  return `The last ${summary.count} iterations, the newest on the right: median ` +
         `${durationText(summary.median)}, ${spreadText(summary)}, all within ` +
         `${durationText(summary.least)} – ${durationText(summary.most)}`;
}

function spokenText(summary) {
  if (!summary) return "No iteration measured yet";
  return `The last ${summary.count} iterations: median ${durationText(summary.median)}, ` +
         `half of them between ${durationText(summary.low)} and ${durationText(summary.high)}, ` +
         `from ${durationText(summary.least)} to ${durationText(summary.most)}`;
}

/// Returns the vertical position of times. The scale spans at least a tenth of the median, so that
/// noise of a percent does not look like change.
function scaleOf({ median, least, most }) {
  const middle = (least + most) / 2, span = Math.max(most - least, median / 10, 1);
  const inner = HEIGHT - 2 * PADDING;
  return (ns) => PADDING + inner * (0.5 - (ns - middle) / span);
}

/// Returns an element; update(times) draws other times, oldest first, in nanoseconds.
export function strip({ large = false } = {}) {
  const line = svgElement("polyline", { class: "strip-line" });
  const middle = svgElement("line", { class: "strip-median", x1: 0, x2: WIDTH });
  const last = svgElement("circle", { class: "strip-last", r: 2.5 });
  const svg = svgElement("svg", { class: "strip", role: "img", preserveAspectRatio: "none",
                                  viewBox: `0 0 ${WIDTH} ${HEIGHT}` }, middle, line);
  const marks = svgElement("svg", { class: "strip-mark", viewBox: `0 0 8 ${HEIGHT}`,
                                    "aria-hidden": "true" }, last);
  const text = h("span", { class: "strip-text" });
  const element = h("div", { class: large ? "strip-box large" : "strip-box" },
                    h("div", { class: "strip-chart" }, svg, marks), text);
  element.update = (times) => {
    const summary = summaryOf(times);
    setState(svg, "aria-label", spokenText(summary));
    setText(text, large && summary ? longSpreadText(summary) : spreadText(summary));
    setState(svg, "data-empty", !summary);
    setState(marks, "data-empty", !summary);
    if (!summary) return;
    const y = scaleOf(summary), step = WIDTH / Math.max(times.length - 1, 1);
    const points = times.map((ns, index) => `${(index * step).toFixed(1)},${y(ns).toFixed(1)}`);
    setState(line, "points", points.join(" "));
    setState(middle, "y1", y(summary.median).toFixed(1));
    setState(middle, "y2", y(summary.median).toFixed(1));
    setState(last, "cx", 4);
    setState(last, "cy", y(times[times.length - 1]).toFixed(1));
  };
  return element;
}
