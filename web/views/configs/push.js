// Pushing a configuration: every knob in a form, over the current configuration of the key.

import { get, send } from "../../api.js";
import { fieldOf } from "../../dialog.js";
import { h } from "../../dom.js";
import { exactBytesText, knobsOf, knobText, parseBytes } from "../../format.js";
import { href } from "../../router.js";
import { announce } from "../../states.js";
import { confirmAction, hint } from "./confirm.js";
import { knobs } from "./settings.js";

const PREFIX = "knob:";

/// Returns the field of a knob; `value` is what the configuration has, or the default.
function knobField(knob, value) {
  const field = { name: PREFIX + knob.name, label: knob.name, hint: knob.meaning };
  if (knob.kind === "choice") return { ...field, type: "select", options: knob.choices, value };
  if (knob.kind === "flag") return { ...field, type: "checkbox", value };
  const text = knob.unit === "bytes" ? exactBytesText : String;
  return { ...field, inputmode: knob.unit === "bytes" ? "text" : "numeric", value: text(value),
           hint: `${knob.meaning}; ${text(knob.low)} to ${text(knob.high)}` };
}

/// Returns the value that a field has. Throws an Error that names the knob.
function valueOf(knob, text) {
  if (knob.kind === "choice") return text;
  if (knob.kind === "flag") return text !== null;
  const value = knob.unit === "bytes" ? parseBytes(text) : Number(text.replaceAll(",", "") || "x");
  if (value === null || !Number.isSafeInteger(value)) {
    const example = knob.unit === "bytes" ? "a size such as 8 MiB" : "a whole number";
    throw new Error(`${knob.name}: expected ${example}, found "${text}".`);
  }
  if (value < knob.low || value > knob.high) {
    const shown = (number) => knobText(knob.name, number);
    throw new Error(`${knob.name}: ${shown(value)} is outside of ${shown(knob.low)} to ` +
                    `${shown(knob.high)}.`);
  }
  return value;
}

/// Returns the fields of what the job declares itself ("job.NAME"). The daemon knows their ranges.
function jobKnobs(config) {
  return Object.entries(config.job ?? {}).map(([name, value]) => ({
    name: `job.${name}`, own: name, isNumber: typeof value === "number",
    field: { name: `${PREFIX}job.${name}`, label: `job.${name}`, value: String(value),
             hint: "declared by the job itself" },
  }));
}

/// Returns the configuration that the form says: `base` with what differs from it.
function configOf(data, base, known) {
  const config = structuredClone(base);
  for (const knob of known.list) {
    const value = valueOf(knob, data.get(PREFIX + knob.name));
    if (value !== (base[knob.name] ?? knob.default)) config[knob.name] = value;
  }
  for (const knob of jobKnobs(base)) {
    const text = data.get(PREFIX + knob.name);
    config.job[knob.own] = knob.isNumber ? Number(text) : text;
    if (knob.isNumber && !(text.trim() && Number.isSafeInteger(config.job[knob.own])))
      throw new Error(`${knob.name}: expected a whole number, found "${text}".`);
  }
  return config;
}

function isUnchanged(config, base) {
  const text = (one) => JSON.stringify(knobsOf(one).map(([name, value]) => [name, value]).sort());
  return text(config) === text(base);
}

/// Shows the dialog. `key` has `version` as its current version, 0 for none; `name` is shown.
export async function push({ key, name, version }) {
  let base = {}, known;
  try {
    known = await knobs();
    // A key without a version starts from the scheduler's default, as `hocket push` does.
    if (version > 0) ({ config: base } = await get(`/v1/configs/${encodeURIComponent(key)}`));
  } catch (error) {
    announce(`Nothing was pushed: ${error.message}`, "bad");
    return;
  }
  const start = version > 0 ? base : { format: "hocket-schedule", version: 1 };
  const fields = known.list.map((knob) => knobField(knob, start[knob.name] ?? knob.default));
  const regions = knobsOf(start).filter(([knob]) => knob.startsWith("regions."));
  await confirmAction({
    key, wide: true, confirm: "Push", title: `Push a configuration to ${name}`,
    intro: version > 0 ? `It begins with version ${version}, the current one.`
                       : "The key has no version yet: it begins with the scheduler's default.",
    body: [h("div", { class: "knobs" }, [...fields, ...jobKnobs(start).map((one) => one.field)]
             .map(fieldOf)),
           regions.length > 0 && h("p", { class: "hint" }, "Kept as they are: ", h("bdi", null,
             regions.map(([knob, value]) => `${knob}=${knobText(knob, value)}`).join(", "))),
           fieldOf({ name: "note", label: "Why", hint: "for the audit" })],
    preview: (data) => {
      const config = configOf(data, start, known);
      if (version > 0 && isUnchanged(config, start))
        throw hint("Nothing is changed yet. Change a knob to see what will happen.");
      return { action: "push", config };
    },
    act: (data) => send("PUT", `/v1/configs/${encodeURIComponent(key)}`,
                        { config: configOf(data, start, known), note: data.get("note").trim() }),
    said: (answer) => {
      const reason = answer.no_job_can_change;
      const more = reason ? `No running job can change to it (${reason}); ` : "";
      return { kind: reason ? "warning" : "good", message: h("span", null,
        `${name}: version ${answer.version} is ${answer.stage}. ${more}`,
        h("a", { href: href(["configs", key]) }, "The key's page"),
        " says what becomes of it.") };
    },
  });
}
