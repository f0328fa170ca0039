// The values that the views of studies read out of the daemon's answers. Pure functions.

import { durationText, knobText, percentText, printable, valueText } from "../../format.js";

const objectiveForm = new RegExp("^(?:(max|min):)?(?:([A-Za-z0-9_.-]+)(?:\\[([^\\]]*)\\])?=)?" +
  "(auto|wall|memory|report|regex:[^]*|file:[^]*)$");
const kinds = {
  auto: { unit: "ns", label: "iteration or wall time" },
  report: { unit: "ns", label: "iteration time" },
  wall: { unit: "ns", label: "wall time" },
  memory: { unit: "bytes", label: "peak memory" },
};

/// Names and values that users chose are cut at this length where they are one of many.
const longestName = 60;

export function shortText(text) {
  const shown = printable(text);
  return shown.length > longestName ? `${shown.slice(0, longestName)}…` : shown;
}

/// Returns {text, isMax, label, unit} of an objective in the words of `hocket tune`.
export function objectiveOf(text) {
  const found = objectiveForm.exec(text ?? "");
  if (!found) {
    return { text: text ?? "", isMax: false, label: shortText(text) || "value", unit: "" };
  }
  const [, direction, name, unit, kind] = found;
  const known = kinds[kind];
  const ownUnit = known?.unit ?? unit ?? "";
  const label = name ? (unit ? `${name} (${unit})` : name) : known?.label ?? kind;
  return { text, isMax: direction === "max", label: shortText(label), unit: shortText(ownUnit) };
}

export function objectivesOf(study) {
  const given = study.definition?.objective;
  return (Array.isArray(given) ? given : [given]).map(objectiveOf);
}

export function parametersOf(study) {
  return study.definition?.space?.parameters ?? [];
}

/// Returns "1 to 64, logarithmic" or "fifo, static".
export function domainText(parameter) {
  if (parameter.choices) return parameter.choices.map(shortText).join(", ");
  const { name, values, low, high, log } = parameter;
  if (values) return values.map((value) => settingText(name, value)).join(", ");
  const range = `${settingText(name, low)} to ${settingText(name, high)}`;
  return range + (log ? ", logarithmic" : "");
}

/// Returns a parameter's value with at most four significant digits; bytes in their units.
export function settingText(name, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) {
    return String(Number(value.toPrecision(4)));
  }
  return shortText(knobText(name, value));
}

export function paramsText(params) {
  return Object.entries(params ?? {})
    .map(([name, value]) => `${name}=${settingText(name, value)}`).join(" ");
}

/// Returns "96.3 ± 0.11 ms"; the unit is said once if it is the same.
export function measuredText(measured, objective) {
  if (typeof measured?.value !== "number") return "–";
  const value = valueText(measured.value, objective.unit);
  if (typeof measured.spread !== "number") return value;
  const spread = valueText(Number(measured.spread.toPrecision(2)), objective.unit);
  const unit = spread.slice(spread.indexOf(" "));
  const isSame = spread.includes(" ") && value.endsWith(unit);
  return `${isSame ? value.slice(0, -unit.length) : value} ± ${spread}`;
}

export function gainText(result) {
  return typeof result?.gain === "number" ? percentText(result.gain) : "–";
}

/// Returns "The gain is 15.7 % to 20.1 % with 90 % confidence; more than 2.7 % was needed."
export function gainWithNoise(result) {
  const interval = result.gain_interval;
  const gain = interval
    ? `${percentText(interval.low)} to ${percentText(interval.high)} with ` +
      `${Math.round(100 * (interval.confidence ?? 0.9))} % confidence`
    : gainText(result);
  const needed = result.needed ?? result.noise;
  const least = typeof needed === "number" ? `; more than ${percentText(needed)} was needed` : "";
  return `The gain is ${gain}${least}.`;
}

/// Returns who runs the study: "hocket tune, process 6773 on vm".
export function runnerText(study) {
  const process = /^(\d+)@(\S+)/.exec(study.owner ?? "");
  const runner = originText[study.origin] ?? study.origin;
  return process && study.origin === "tune"
    ? `${runner}, process ${process[1]} on ${shortText(process[2])}` : runner;
}

export function trialDuration(trial) {
  if (!trial.finished_at_ns) return null;
  return trial.finished_at_ns - trial.started_at_ns;
}

export function durationOf(trial) {
  return durationText(trialDuration(trial));
}

/// Returns the best trial of the search, or null.
export function bestOf(trials, objective) {
  const sign = objective.isMax ? -1 : 1;
  let best = null;
  for (const trial of trials) {
    if (trial.status !== "complete" || typeof trial.value !== "number") continue;
    if (!best || sign * trial.value < sign * best.value) best = trial;
  }
  return best;
}

/// Returns how the default of a parameter is known, in words.
export function sourceText(source) {
  if (!source) return "";
  const words = {
    given: "given", environment: "from the environment", script: "from the argument parser of",
    scheduler: "the scheduler's own", assumed: "assumed",
  };
  const word = words[source.origin] ?? source.origin;
  return source.origin === "script" ? `${word} ${shortText(source.detail || "the script")}` : word;
}

export const originText = {
  tune: "hocket tune", http: "workers over HTTP", live: "live tuning",
};
