// The profiles whose timeline can be shown.

import { h } from "../../dom.js";
import { countText, dateText, durationText, percentText, printable } from "../../format.js";
import { href } from "../../router.js";
import { empty } from "../../states.js";
import { table } from "../../table.js";

/// Returns an element for the summaries of /v1/profiles.
export function profileList(profiles) {
  const title = h("h1", null, "Timelines");
  if (profiles.length === 0) {
    return [title, empty("There is no profile yet.", h("span", null,
      "Record one of a running job with ", h("code", null, "hocket profile JOB --iterations 20"),
      ", or import traces with ",
      h("code", null, "hocket profiles import rank0.json rank1.json"), "."))];
  }
  const isThere = (profile) => (profile.trace_bytes ?? 1) > 0;
  const hint = h("p", { class: "hint" }, "Choose the profile whose timeline you want to see.");
  return [title, hint, table({
    caption: "Profiles", cards: true, rows: [...profiles].reverse(), key: (row) => row.profile,
    link: (row) => isThere(row) ? href(["timeline", row.profile]) : null,
    columns: [
      { name: "Profile", text: (row) => printable(row.profile), sort: (row) => row.profile,
        node: (row) => h("bdi", null, printable(row.profile)) },
      { name: "Workload", text: (row) => printable(row.workload ?? ""),
        sort: (row) => row.workload },
      { name: "Ranks", numeric: true, text: (row) => countText(row.ranks?.length),
        sort: (row) => row.ranks?.length },
      { name: "Iterations", numeric: true, text: (row) => countText(row.iterations),
        sort: (row) => row.iterations },
      { name: "Iteration", numeric: true, text: (row) => durationText(row.iteration_ns),
        sort: (row) => row.iteration_ns },
      { name: "Exposed", numeric: true, text: (row) => percentText(row.exposed_share),
        sort: (row) => row.exposed_share },
      { name: "Trace", text: (row) => isThere(row) ? "there" : "its files are gone",
        sort: (row) => row.trace_bytes },
      { name: "Made", text: (row) => dateText(row.created_at_ns),
        sort: (row) => row.created_at_ns },
    ] })];
}
