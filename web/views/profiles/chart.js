// The iterations of one rank as a chart: a bar for each, its exposed communication marked.

import { svgElement } from "../../dom.js";
import { durationText, percentText } from "../../format.js";

const WIDTH = 760, HEIGHT = 190, LEFT = 74, BOTTOM = 160, TOP = 12;

/// Returns an SVG element for hk-plot. Requires at least one iteration.
export function iterationChart(iterations, name) {
  const longest = Math.max(...iterations.map((each) => each.wall_ns), 1);
  const width = (WIDTH - LEFT - 10) / iterations.length;
  const height = (ns) => ((BOTTOM - TOP) * ns) / longest;
  const bars = iterations.map((each, i) => bar(each, LEFT + i * width, width, height));
  const every = Math.ceil(iterations.length / 12);
  const labels = iterations.map((each, i) => i % every === 0 && svgElement("text", {
    x: LEFT + (i + 0.5) * width, y: BOTTOM + 15, "text-anchor": "middle", "font-size": 11,
  }, each.step));
  return svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT },
    svgElement("title", null, name),
    [0, longest / 2, longest].map((ns) => grid(ns, BOTTOM - height(ns))), bars, labels,
    svgElement("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 2, "text-anchor": "middle",
      "font-size": 12 }, "step"));
}

function grid(ns, y) {
  return [svgElement("line", { x1: LEFT, y1: y, x2: WIDTH - 10, y2: y, stroke: "#dddddd" }),
    svgElement("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end", "font-size": 11 },
      durationText(ns))];
}

/// The hint is on a group, so that all parts of the bar and its name are one mark.
function bar(each, x, width, height) {
  const gap = Math.min(4, width * 0.2);
  const rect = (kind, ns) => svgElement("rect", { class: kind, x: x + gap / 2,
    y: BOTTOM - height(ns), width: Math.max(0.5, width - gap), height: height(ns) });
  const share = each.wall_ns > 0 ? each.exposed_ns / each.wall_ns : null;
  return svgElement("g", { class: "iteration" },
    svgElement("title", null, `step ${each.step}: ${durationText(each.wall_ns)}, computation ` +
      `${durationText(each.compute_ns)}, communication ${durationText(each.communication_ns)}, ` +
      `of which exposed ${durationText(each.exposed_ns)} (${percentText(share)})`),
    rect("iteration-whole", each.wall_ns), rect("iteration-exposed", each.exposed_ns));
}
