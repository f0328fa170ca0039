// The settings of a prediction: the address, the request and the command say the same. Pure.

import { exactBytesText } from "../../format.js";

const NUMBERS = ["ranks", "ranks_per_host", "compute_scale", "bandwidth_scale"];
const LINKS = ["network_link", "host_link"];
const RATES = { kbit: 1e-6, mbit: 1e-3, gbit: 1, tbit: 1e3 };
const TIMES = { ns: 1e-3, us: 1, ms: 1e3 };

/// Settings: {profile, step: name of a file or "", config: {knob: value}, ranks, ranks_per_host,
/// compute_scale, bandwidth_scale, network_link, host_link: {gbit, us}}; null where nothing was
/// changed.
export function settingsOf(query, knobs) {
  const settings = { profile: query.get("profile") ?? "", step: query.get("step") ?? "",
                     config: {} };
  for (const name of NUMBERS) {
    const value = Number(query.get(name));
    settings[name] = query.has(name) && value > 0 ? value : null;
  }
  for (const name of LINKS) settings[name] = parseLink(query.get(name) ?? "");
  for (const knob of knobs) {
    const text = query.get(knob.name);
    if (text === null) continue;
    const value = valueOf(knob, text);
    if (value !== null) settings.config[knob.name] = value;
  }
  return settings;
}

/// Returns the value that a text means for a knob; null if it is not allowed.
export function valueOf(knob, text) {
  if (knob.kind === "choice") return knob.choices.includes(text) ? text : null;
  const value = Number(text);
  if (text === "" || !Number.isInteger(value)) return null;
  return value >= knob.low && value <= knob.high ? value : null;
}

/// Returns the parameters of the address. All are given, so that what is not set is removed.
export function queryOf(settings, knobs) {
  const query = { profile: settings.profile || null, step: settings.step || null };
  for (const name of NUMBERS) query[name] = settings[name];
  for (const name of LINKS) query[name] = settings[name] && linkText(settings[name]);
  for (const { name } of knobs) query[name] = settings.config[name] ?? null;
  return query;
}

/// Returns the body of /v1/simulate; `step` is the description if one was opened.
export function requestOf(settings, step, config = settings.config) {
  const body = step ? { step } : { profile: settings.profile };
  if (Object.keys(config).length > 0) body.config = config;
  for (const name of NUMBERS) if (settings[name] !== null) body[name] = settings[name];
  for (const name of LINKS) if (settings[name]) body[name] = linkText(settings[name]);
  return body;
}

function quoted(text) {
  return /^[\w.,:=/+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function knobWord(name, value) {
  if (!name.endsWith("_bytes") || value === 0) return `${name}=${value}`;
  // The verb reads a number without a unit as bytes.
  return `${name}=${exactBytesText(value).replace(/[ ,]/g, "").replace(/(\d)B$/, "$1")}`;
}

/// Returns the command that predicts the same.
export function commandOf(settings) {
  const words = ["hocket", "simulate"];
  if (settings.step) {
    words.push(quoted(settings.step));
  } else {
    words.push("--profile", quoted(settings.profile));
  }
  for (const [name, value] of Object.entries(settings.config))
    words.push("--set", quoted(knobWord(name, value)));
  for (const name of NUMBERS)
    if (settings[name] !== null)
      words.push(`--${name.replaceAll("_", "-")}`, String(settings[name]));
  for (const name of LINKS)
    if (settings[name])
      words.push("--link", `${name.replace("_link", "")}=${linkText(settings[name])}`);
  return words.join(" ");
}

/// Returns {gbit, us} of a text such as "10gbit,20us"; null if it is none.
export function parseLink(text) {
  const found = /^([\d.]+)([kmgt]bit),([\d.]+)(ns|us|ms)$/.exec(text);
  if (!found) return null;
  const link = { gbit: Number(found[1]) * RATES[found[2]], us: Number(found[3]) * TIMES[found[4]] };
  return link.gbit > 0 && link.us >= 0 ? link : null;
}

function short(value) {
  return String(Number(value.toPrecision(4)));
}

export function linkText({ gbit, us }) {
  const rate = gbit < 1 ? `${short(gbit * 1e3)}mbit` : `${short(gbit)}gbit`;
  const latency = us < 1 ? `${short(us * 1e3)}ns` : `${short(us)}us`;
  return `${rate},${latency}`;
}
