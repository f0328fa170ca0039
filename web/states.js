// The states of a view that has nothing to show, and the results of actions.

import { h } from "./dom.js";

export function loading(text = "Loading") {
  return h("p", { class: "state loading", role: "status" }, `${text} …`);
}

/// Says that there is nothing, and in `hint` (text or nodes) how something comes to be there.
export function empty(title, hint) {
  return h("div", { class: "state empty", role: "status" },
           h("p", { class: "state-title" }, title), hint && h("div", { class: "hint" }, hint));
}

/// Says what went wrong; `retry` is called by the button, which is absent without it.
export function failed(error, retry) {
  return h("div", { class: "state failed", role: "alert" },
           h("p", { class: "state-title" }, "This could not be shown."),
           h("p", null, h("bdi", null, error?.message ?? String(error))),
           retry && h("button", { type: "button", onclick: () => retry() }, "Try again"));
}

/// Shows a result below the header and tells it to screen readers, until another one comes or the
/// reader closes it. kind: "good", "warning" or "bad".
export function announce(message, kind = "good") {
  window.dispatchEvent(new CustomEvent("hocket-announce", { detail: { message, kind } }));
}
