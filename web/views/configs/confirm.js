// A dialog that says what an action will do before it is done, as the daemon says it.

import { send } from "../../api.js";
import { ask, fieldOf } from "../../dialog.js";
import { h, replace } from "../../dom.js";
import { configText, isSame } from "../../format.js";
import { live } from "../../live.js";
import { announce, loading } from "../../states.js";
import { knobs, settingsTable } from "./settings.js";

const PAUSE_MS = 250;

function previewNodes({ says, before, after }, known) {
  const nodes = [h("ul", { class: "says" },
                   says.map((text) => h("li", null, h("bdi", null, text))))];
  // Actions that change no configuration have none after them.
  if (after === null || after === undefined) return nodes;
  if (isSame(before ?? {}, after)) {
    nodes.push(h("p", null, "The configuration is the same as now."));
  } else if (Object.keys(after).length === 0) {
    const now = configText(before, known.defaults);
    nodes.push(h("p", null, "Now: ", h("span", { class: "mono" }, now),
                 ". After: no values; each job takes its own default."));
  } else {
    nodes.push(settingsTable({
      caption: "What changes", known, onlyChanges: true,
      before: { name: before ? "Now" : "Now (the default)", config: before ?? {} },
      after: { name: "After", config: after },
    }));
  }
  return nodes;
}

/// Keeps the preview of `form` up to date; the action can be confirmed only as previewed.
class Preview {
  element = h("div", { class: "preview", "aria-live": "polite" });
  #key;
  #action;
  #form = null;
  #button = null;
  #timer = 0;
  #asked = null;

  /// `action(data)` returns the body of a preview, or throws an Error that says what is wrong.
  constructor(key, action) {
    this.#key = key;
    this.#action = action;
    replace(this.element, loading("Asking what will happen"));
  }

  attach({ form, button }) {
    this.#form = form;
    this.#button = button;
    button.disabled = true;
    form.addEventListener("input", () => {
      button.disabled = true;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#refresh(), PAUSE_MS);
    });
    this.#refresh();
  }

  async #refresh() {
    this.#asked?.abort();
    const asked = new AbortController();
    this.#asked = asked;
    try {
      const intent = this.#action(new FormData(this.#form));
      const [answer, known] = await Promise.all([
        send("POST", `/v1/configs/${encodeURIComponent(this.#key)}/preview`, intent,
             { signal: asked.signal }), knobs()]);
      if (asked.signal.aborted) return;
      replace(this.element, h("h3", null, "What will happen"), previewNodes(answer, known));
      this.#button.disabled = false;
    } catch (error) {
      if (asked.signal.aborted) return;
      replace(this.element, h("p", { class: error.isHint ? "hint" : "trouble" }, error.message));
    }
  }
}

/// Returns an error whose message is no failure, but what the reader has yet to do.
export function hint(message) {
  return Object.assign(new Error(message), { isHint: true });
}

/// Asks whether to do something to `key`, after showing what will happen; then does it and says
/// what happened. options: key, title, intro, fields, body (nodes), confirm, danger, wide,
/// preview(data): body of the preview, act(data): promise of the answer,
/// said(answer, knobs): {message, kind}.
export async function confirmAction(options) {
  const { key, title, intro, fields = [], body = [], confirm, danger, wide } = options;
  const preview = new Preview(key, options.preview);
  let answer = null;
  const data = await ask({
    title, confirm, danger, wide, novalidate: true,
    body: [h("div", { class: "asked" }, intro && h("p", null, intro), body, fields.map(fieldOf)),
           preview.element],
    submit: async (given) => { answer = await options.act(given); },
    opened: (parts) => preview.attach(parts),
  });
  if (!data) return;
  const { message, kind } = options.said(answer, await knobs());
  announce(message, kind);
  // The stream says it as well, up to a second later.
  live.dispatchEvent(new Event("store"));
  live.dispatchEvent(new Event("jobs"));
}
