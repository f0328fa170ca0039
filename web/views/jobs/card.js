// One job of the list, as `hocket top` shows it, with its last iterations.

import { h, setState } from "../../dom.js";
import { longText, meter, nameElement } from "../../elements.js";
import { countText, countedText, isSame, percentText } from "../../format.js";
import { href } from "../../router.js";
import { budgetShare, budgetText, busyBars, exposedShare, fact, iterationText, jobState, lastLine,
         versionText } from "./parts.js";
import { strip } from "./strip.js";

/// Returns an element of the list; update(job) changes what differs.
export function jobCard(job) {
  const link = h("a", { href: href(["jobs", job.job]) }, nameElement(job.name || job.job));
  const place = h("span", { class: "lead" });
  const parts = {
    state: jobState(), strip: strip(), busy: busyBars(), budget: meter("Exploration budget used"),
    last: lastLine(), note: h("p", { class: "hint note" }),
  };
  const step = fact("Step"), iteration = fact("Iteration", "median of the latest iterations");
  const exposed = fact("Exposed", "share of the iteration in which rank 0 communicates and " +
                                  "computes nothing");
  const version = fact("Version", "\"own\" is not one of the daemon's");
  const item = h("li", { class: "card job" },
    h("div", { class: "job-head" }, h("h2", null, link), place, parts.state),
    h("div", { class: "job-row" }, parts.strip,
      h("dl", { class: "facts" }, step, iteration, exposed, fact("Busy").put(parts.busy), version,
        fact("Explored", "what trying candidates has cost, of what it may").put(parts.budget))),
    parts.last, parts.note);
  let shownNote = null, shownName = job.name, shownPlace = null;

  item.update = (now) => {
    if (now.name !== shownName) {
      shownName = now.name;
      link.replaceChildren(nameElement(now.name || now.job));
    }
    const where = [countedText(now.world_size, "rank"), now.host];
    if (!isSame(where, shownPlace)) {
      shownPlace = where;
      place.replaceChildren(`${where[0]} · `, nameElement(now.host, "host unknown"));
    }
    setState(item, "data-away", !now.connected);
    parts.state.update(now);
    parts.strip.update(now.latest_ns ?? []);
    step.update(countText(now.step));
    iteration.update(iterationText(now));
    exposed.update(percentText(exposedShare(now)));
    parts.busy.update(now);
    version.update(versionText(now));
    parts.budget.update(budgetShare(now), budgetText(now));
    parts.last.update(now);
    const note = now.tuning_stopped || now.note || "";
    if (!isSame(note, shownNote)) {
      shownNote = note;
      parts.note.replaceChildren(longText(note, 200));
      parts.note.hidden = note === "";
    }
  };
  return item;
}
