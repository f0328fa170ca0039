// The outcome of a study, in front of its tabs.

import { h } from "../../dom.js";
import { facts, longText } from "../../elements.js";
import { countedText, dateText, durationText, zoneText } from "../../format.js";
import {
  bestOf, domainText, gainText, gainWithNoise, measuredText, objectivesOf, parametersOf, runnerText,
  settingText, sourceText,
} from "./data.js";
import { commandNode, verbHint } from "../parts.js";

/// Returns the nodes of the summary of `view`, a Study.
export function summary(view) {
  const { study } = view;
  return [verdict(view), h("div", { class: "study-what" }, settings(view),
    h("div", { class: "panel study-facts" }, factsOf(study), space(study)))];
}

function verdict({ study, trials, objectives }) {
  const { result, state } = study;
  if (!result) return runningVerdict(study, trials, objectives[0]);
  if (result.front?.length) {
    return box("accent", `${result.front.length} settings that no other beats in all objectives`,
      result.reason || "Which trade-off is right is for you to choose; nothing is promoted.");
  }
  if (result.best.value === null) {
    return box("bad", "Ended without a result", sentence(result.reason || result.stopped),
      study.origin === "tune" && verbHint("What the first trial printed:",
        `hocket trials ${study.study} --log 1`));
  }
  const assumed = assumedText(study.definition?.default_sources);
  if (result.promoted) {
    return box("good", `${gainText(result)} better than the default, confirmed`,
      gainWithNoise(result), assumed);
  }
  const title = state === "interrupted" ? "Interrupted; the default stays" : "The default stays";
  return box("muted", title, gainWithNoise(result), sentence(result.reason), assumed);
}

/// Returns the text as a sentence, as messages of the programs begin with a small letter.
function sentence(text) {
  return text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "";
}

/// Says what a gain over an assumed default is worth.
function assumedText(sources) {
  const names = Object.keys(sources ?? {}).filter((name) => sources[name].origin === "assumed");
  return names.length > 0 && h("p", { class: "hint" }, `The default of ${names.join(", ")} is ` +
    "assumed, so the gain is not one over what the command does by itself. If you know the " +
    "default, give it: ", h("code", null, `--default ${names[0]}=VALUE`), ".");
}

function runningVerdict(study, trials, objective) {
  const best = bestOf(trials, objective);
  const done = trials.filter((trial) => trial.status !== "running").length;
  const of = study.definition?.trials ? ` of ${study.definition.trials}` : "";
  const text = best
    ? `Best so far: ${measuredText(best, objective)} in trial ${best.number}.`
    : "No trial has completed yet.";
  if (study.state === "interrupted") {
    const goesOn = study.origin === "tune" &&
      verbHint("Go on with it:", `hocket tune --resume --study ${study.study}`);
    return box("warning", `Interrupted after ${countedText(done, "trial")}`, text, goesOn);
  }
  if (study.state === "paused") {
    return box("muted", `Paused after ${countedText(done, "trial")}`, text,
      "Its job has ended. The next job of its key goes on with it.");
  }
  if (study.state === "finished") {
    return box("bad", "Ended without a result", study.definition?.stopped || text);
  }
  return box("accent", `Running: ${done}${of} trials`, text);
}

function box(tone, title, ...texts) {
  return h("div", { class: `verdict verdict-${tone}` }, h("p", { class: "verdict-title" }, title),
    texts.filter(Boolean).map((text) =>
      typeof text === "string" ? h("p", null, longText(text)) : text));
}

/// Returns a table of the default beside the best setting, or null before there is a result.
function settings({ study, objectives }) {
  const { result } = study;
  if (!result || result.front?.length) return null;
  const [before, after] = [result.default, result.best];
  const sources = study.definition?.default_sources ?? {};
  const names = [...new Set([...Object.keys(before.params), ...Object.keys(after.params)])];
  const rows = names.map((name) => {
    const isSame = before.params[name] === after.params[name];
    return h("tr", null, h("th", { scope: "row" }, h("bdi", null, name)),
      h("td", null, settingText(name, before.params[name]), " ",
        sources[name] && h("span", { class: "muted" }, `(${sourceText(sources[name])})`)),
      h("td", { class: isSame ? "muted" : "changed" }, settingText(name, after.params[name])));
  });
  return h("div", { class: "table-scroll", tabindex: "0", role: "region",
    "aria-label": "Default and best setting" },
  h("table", { class: "settings" },
    h("caption", null, "Default and best setting"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Parameter"),
      h("th", { scope: "col" }, "Default"), h("th", { scope: "col" }, "Best"))),
    h("tbody", null, rows, h("tr", { class: "total" },
      h("th", { scope: "row" }, objectives[0].label), h("td", null, measuredText(before,
        objectives[0])), h("td", null, measuredText(after, objectives[0]))))));
}

function factsOf(study) {
  const { definition } = study;
  const stopped = study.result?.stopped || definition?.stopped;
  const zone = zoneText(study.created_at_ns);
  return facts([
    ["Command", commandNode(study.command)],
    ["Objective", objectivesOf(study).map((each) => h("div", null, h("bdi", null, each.label),
      `, ${each.isMax ? "higher" : "lower"} is better`, each.text.includes(":") &&
      h("code", { class: "muted objective-text" }, longText(each.text, 100))))],
    definition?.limits?.length && ["Limits", longText(definition.limits.join(", "))],
    ["Budget", budgetText(definition)],
    ["Stopped", stopped ? longText(stopped)
      : study.state === "running" ? "not yet" : "when its trials were used"],
    ["Run by", runnerText(study)],
    ["Started", `${dateText(study.created_at_ns)} ${zone}`],
    ["Last change", `${durationText(study.updated_at_ns - study.created_at_ns)} later`],
  ]);
}

function budgetText(definition) {
  if (!definition?.trials) return "–";
  const parts = [countedText(definition.trials, "trial")];
  if (definition.confirm_pairs) {
    parts.push(`up to ${countedText(definition.confirm_pairs, "pair")} of runs to confirm`);
  }
  if (definition.time_limit_ns) parts.push(`${durationText(definition.time_limit_ns)} a trial`);
  return parts.join(", ");
}

function space(study) {
  const parameters = parametersOf(study);
  const constraints = study.definition?.space?.constraints ?? [];
  return h("details", { class: "space" },
    h("summary", null, `Space: ${countedText(parameters.length, "parameter")}`),
    h("ul", null, parameters.map((parameter) => h("li", null, h("code", null, parameter.name), ": ",
      domainText(parameter), h("span", { class: "muted" },
        `, default ${settingText(parameter.name, parameter.default)}`)))),
    constraints.length > 0 && h("p", null, "Required: ", longText(constraints.join(", "))));
}
