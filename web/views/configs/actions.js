// An operator's actions on a key and on a job. Each action says first what will happen.

import { get, may, send, serves } from "../../api.js";
import { ask } from "../../dialog.js";
import { h, setState, setText } from "../../dom.js";
import { configText, dateText } from "../../format.js";
import { href } from "../../router.js";
import { announce } from "../../states.js";
import { confirmAction } from "./confirm.js";

function pathOf(key, suffix) {
  return `/v1/configs/${encodeURIComponent(key)}/${suffix}`;
}

function currentText(name, answer) {
  if (!answer.version) return `${name} has no version`;
  return `${name}: version ${answer.version}${answer.origin ? ` (${answer.origin})` : ""}`;
}

/// Pins the key's current version, or `version` if one is given.
export function pin({ key, name }, version = 0) {
  const what = version > 0 ? `version ${version} of ${name}` : name;
  const chosen = version > 0 ? { version } : {};
  return confirmAction({
    key, title: `Pin ${what}`, confirm: "Pin",
    preview: () => ({ action: "pin", ...chosen }),
    act: () => send("PUT", pathOf(key, "pin"), { pinned: true, ...chosen }),
    said: (answer) => ({ message: `${currentText(name, answer)} is pinned.` }),
  });
}

function unpin({ key, name }) {
  return confirmAction({
    key, title: `Unpin ${name}`, confirm: "Unpin",
    preview: () => ({ action: "unpin" }),
    act: () => send("PUT", pathOf(key, "pin"), { pinned: false }),
    said: () => ({ message: `${name} is no longer pinned.` }),
  });
}

function freeze({ key, name, frozen }) {
  return confirmAction({
    key, title: `${frozen ? "Unfreeze" : "Freeze"} ${name}`,
    confirm: frozen ? "Unfreeze" : "Freeze",
    preview: () => ({ action: frozen ? "unfreeze" : "freeze" }),
    act: () => send("PUT", pathOf(key, "freeze"), { frozen: !frozen }),
    said: () => ({ message: frozen ? `${name} is no longer frozen.` : `${name} is frozen.` }),
  });
}

/// Rolls back. `to`: a version that is chosen already; without it the reader chooses.
export async function rollBack({ key, name }, to = null) {
  let versions = [];
  try {
    if (to === null) ({ versions } = await get(pathOf(key, "versions")));
  } catch (error) {
    announce(`Nothing was rolled back: ${error.message}`, "bad");
    return;
  }
  const target = (data) => String(to ?? data.get("to"));
  const choose = to !== null ? [] : [
    { name: "to", label: "Back to", type: "select", value: "", options: [
      { value: "", text: "the version before" },
      { value: "default", text: "the default: no configuration at all" },
      ...versions.toReversed().map(({ version, stage, promoted_at_ns: at }) =>
        ({ value: version, text: `version ${version}, ${stage}, of ${dateText(at)}` }))] }];
  await confirmAction({
    key, danger: true, confirm: "Roll back",
    title: to !== null ? `Roll ${name} back to version ${to}` : `Roll ${name} back`,
    fields: [...choose, { name: "note", label: "Why", hint: "for the audit" }],
    preview: (data) => ({ action: "rollback", to: target(data) }),
    act: (data) => send("PUT", pathOf(key, "rollback"),
                        { to: target(data), note: data.get("note").trim() }),
    said: (answer, known) => {
      const setting = answer.setting;
      const isDefault = !setting || Object.keys(setting).length === 0;
      const what = isDefault ? "their own default" : configText(setting, known.defaults);
      return { message: `${currentText(name, answer)} is what jobs get now. ` +
                        `Jobs that start get ${what}.` };
    },
  });
}

/// Requests a profile of a running job.
export async function requestProfile({ job, name, connected }) {
  let answer = null;
  const data = await ask({
    title: `Profile ${name}`, confirm: "Request",
    body: [h("ul", { class: "says" },
      h("li", null, "The job records the next iterations on all ranks, between two candidates."),
      h("li", null, "Candidates wait until it is done; pushed versions do not."),
      !connected && h("li", null, "The job is away: it takes the request when it is back."),
      h("li", null, "It writes the profile into its own store, and the request into the audit."))],
    fields: [{ name: "iterations", label: "Iterations", type: "number", value: "10", min: 1,
               max: 10000, step: 1, required: true,
               hint: "1 to 10,000; a PyTorch job records at most 100" }],
    submit: async (given) => {
      answer = await send("POST", `/v1/jobs/${encodeURIComponent(job)}/profile`,
                          { iterations: Number(given.get("iterations")) });
    },
  });
  if (!data) return;
  announce(h("span", null, `Request ${answer.request}: ${name} records ${answer.iterations} ` +
             `iterations${answer.connected ? "" : " when it is back"}. The profile appears under `,
             h("a", { href: href(["profiles"]) }, "Profiles"),
             " if the job uses the daemon's store."));
}

/// Says why nothing can be changed; null if it can.
function refusal() {
  if (may("admin")) return null;
  return serves() === "store"
    ? "This page shows a store without a daemon: it changes nothing. Use `hocket rollback`, or " +
      "start `hocket serve`."
    : "Your token may look only: push, pin, freeze, roll back and profiles need the role admin.";
}

/// Returns buttons for a key, or why there are none. update({key, name, version, pinned, frozen,
/// job?}) sets what they act on; `job`: {job, name, connected} adds a request for a profile.
export function keyTools() {
  const why = refusal();
  if (why) {
    const text = h("p", { class: "hint" }, why);
    text.update = () => {};
    return text;
  }
  let on = null;
  const button = (text, act) => h("button", { type: "button", onclick: () => act(on) }, text);
  // The dialog has many fields, which most readers never open.
  const pushing = button("Push…", async () => (await import("./push.js")).push(on));
  const pinning = button("Pin…", () => (on.pinned ? unpin(on) : pin(on)));
  const freezing = button("Freeze…", freeze);
  const rolling = button("Roll back…", () => rollBack(on));
  const profiling = button("Profile…", () => requestProfile(on.job));
  const bar = h("div", { class: "tools", role: "group", "aria-label": "Actions" },
                pushing, pinning, freezing, rolling, profiling);
  bar.update = (next) => {
    on = next;
    setText(pinning, next.pinned ? "Unpin…" : "Pin…");
    setText(freezing, next.frozen ? "Unfreeze…" : "Freeze…");
    setState(profiling, "hidden", !next.job);
  };
  return bar;
}
