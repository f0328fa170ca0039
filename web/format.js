// Turns values into text with units. Pure: no element, no request. "–" stands for what is unknown.

const NONE = "–";
const counts = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const numbers = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const TIMES = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const SIZES = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/// Returns for example "24.9 ms", "107.3 ms", "2 min 5 s".
export function durationText(ns) {
  if (!isNumber(ns)) return NONE;
  if (ns < 0) return "-" + durationText(-ns);
  if (ns === 0) return "0 ns";
  if (ns >= 120e9) {
    const seconds = Math.round(ns / 1e9), minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return `${hours} h ${minutes % 60} min`;
    return `${Math.floor(hours / 24)} days ${hours % 24} h`;
  }
  // 999.96 ms would be printed as 1000.0 ms.
  const [unit, factor] = TIMES.find(([, scale]) => ns >= scale * 0.99995) ?? TIMES[3];
  const value = ns / factor;
  if (unit === "ns") return `${Math.round(value)} ns`;
  return `${value.toFixed(value < 9.995 ? 2 : 1)} ${unit}`;
}

/// Returns for example "4 MiB", "1.25 GiB": rounded to two places.
export function bytesText(bytes) {
  if (!isNumber(bytes)) return NONE;
  const [unit, factor] = SIZES.find(([, size]) => Math.abs(bytes) >= size) ?? SIZES[4];
  return `${numbers.format(Math.round(bytes / factor * 100) / 100)} ${unit}`;
}

/// Returns the size without rounding: "64 KiB", but "65,537 B".
export function exactBytesText(bytes) {
  if (!isNumber(bytes)) return NONE;
  const [unit, factor] = SIZES.find(([, size]) => bytes >= size && bytes % size === 0) ?? SIZES[4];
  return `${counts.format(bytes / factor)} ${unit}`;
}

/// Returns the bytes that a text such as "8MiB", "64 k" or "1,000" means (docs/GLOSSARY.md, sizes);
/// null if it means none.
export function parseBytes(text) {
  const found = /^\s*([0-9][0-9,]*(?:\.[0-9]+)?)\s*([kmgt]?)(i?)(b?)\s*$/i.exec(text);
  if (!found) return null;
  const [, digits, letter, binary, unit] = found;
  if (binary && !unit) return null;
  const power = "kmgt".indexOf(letter.toLowerCase()) + 1;
  const base = letter && unit && !binary ? 1000 : 1024;
  const bytes = Number(digits.replaceAll(",", "")) * (letter ? base ** power : 1);
  return Number.isInteger(bytes) ? bytes : null;
}

export function percentText(share) {
  return isNumber(share) ? `${(100 * share).toFixed(1)} %` : NONE;
}

export function countText(count) {
  return isNumber(count) ? counts.format(count) : NONE;
}

/// Returns "1 job", "2 jobs".
export function countedText(count, noun, plural = noun + "s") {
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

export function numberText(value) {
  return isNumber(value) ? numbers.format(value) : NONE;
}

function two(number) {
  return String(number).padStart(2, "0");
}

/// Returns "2026-11-23 14:05:12" in the reader's time zone.
export function dateText(unixNs) {
  if (!isNumber(unixNs) || unixNs <= 0) return NONE;
  const date = new Date(unixNs / 1e6);
  if (Number.isNaN(date.getTime())) return NONE;
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}

/// Returns the reader's time zone, such as "GMT+1".
export function zoneText(unixNs) {
  const date = isNumber(unixNs) ? new Date(unixNs / 1e6) : new Date();
  const parts = new Intl.DateTimeFormat("en-US", { timeZoneName: "short" }).formatToParts(date);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}

/// Returns "12 s ago", "3 min ago".
export function agoText(ns) {
  if (!isNumber(ns)) return NONE;
  const seconds = Math.max(0, Math.floor(ns / 1e9));
  if (seconds < 2) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} days ago`;
}

/// Returns a value in its unit: "ns", "bytes", a program's own unit, or "" for none.
export function valueText(value, unit) {
  if (unit === "ns") return durationText(value);
  if (unit === "bytes") return bytesText(value);
  if (!isNumber(value)) return NONE;
  return unit ? `${numberText(value)} ${unit}` : numberText(value);
}

/// Returns the text of a knob's or parameter's value. Sizes are not rounded: a configuration that
/// differs looks different.
export function knobText(name, value) {
  if (value === null || value === undefined) return NONE;
  if (typeof value === "number" && name.endsWith("_bytes")) return exactBytesText(value);
  if (typeof value === "number") return Number.isInteger(value) ? countText(value) : String(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/// Returns [name, value] of each knob; those of regions are "regions.NAME.KNOB", a job's own
/// "job.NAME". Works for parameters of a plain command as well.
export function knobsOf(config) {
  const knobs = [];
  for (const [name, value] of Object.entries(config ?? {})) {
    if (name === "format" || (name === "version" && config.format)) continue;
    if (name === "job" && value && typeof value === "object") {
      for (const [own, set] of Object.entries(value)) knobs.push([`job.${own}`, set]);
    } else if (name === "regions" && value && typeof value === "object") {
      for (const [region, set] of Object.entries(value)) {
        const own = Object.entries(set).map(([knob, one]) => [`regions.${region}.${knob}`, one]);
        knobs.push(...own);
      }
    } else {
      knobs.push([name, value]);
    }
  }
  return knobs;
}

/// Returns "credit_bytes=8 MiB order=static"; "the default" if nothing is set. Knobs that are as in
/// `defaults` ({name: value}) are left out, others are in its order.
export function configText(config, defaults = {}) {
  if (config === null || config === undefined) return NONE;
  const names = Object.keys(defaults);
  const placeOf = (name) => (name in defaults ? names.indexOf(name) : names.length);
  const texts = knobsOf(config).filter(([name, value]) => defaults[name] !== value)
    .sort(([a], [b]) => placeOf(a) - placeOf(b))
    .map(([name, value]) => `${name}=${knobText(name, value)}`);
  return texts.join(" ") || "the default";
}

/// Returns [{name, before, after}] of all knobs that either configuration has. A configuration of
/// the scheduler leaves out some knobs that have their default: these are filled from `defaults`.
export function compareConfigs(before, after, defaults = {}) {
  const filled = (config) => {
    const knobs = new Map(knobsOf(config));
    const isSchedule = !config || config.format || Object.keys(config).length === 0;
    return isSchedule ? new Map([...Object.entries(defaults), ...knobs]) : knobs;
  };
  const own = new Set([...knobsOf(before), ...knobsOf(after)].map(([name]) => name));
  const ordered = [...Object.keys(defaults).filter((name) => own.has(name)),
                   ...[...own].filter((name) => !(name in defaults))];
  const old = filled(before), young = filled(after);
  return ordered.map((name) => ({ name, before: old.get(name), after: young.get(name) }));
}

export function isSame(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/// Returns the first eight digits of each of a key's fingerprints, as the verbs do.
export function shortKey(key) {
  return /^[0-9a-f-]{36}\.[0-9a-f-]{36}$/.test(key)
    ? key.split(".").map((part) => part.slice(0, 8)).join(".") : key;
}

/// Returns a text of others for one line, as the program's terminal shows it
/// (core/base/plain_text.h): ends of lines are blanks, and controls, marks that change the direction
/// of what follows, and characters that are not seen are a replacement character.
export function printable(text) {
  return String(text ?? "").replace(/[\t-\r\u0085\u2028\u2029]+/g, " ").replace(HIDDEN, "\ufffd");
}

const HIDDEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160" +
  "\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0" +
  "\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}]", "gu");
