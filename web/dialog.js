// Asks the reader something in a modal dialog. The browser keeps the focus inside, and gives it
// back to the button that asked.

import { h, replace } from "./dom.js";

let dialogs = 0;

/// Returns a labelled input. field: {name, label, hint, type, value, options, …attributes}; type is
/// that of an input, "select" or "textarea".
export function fieldOf(field) {
  const { name, label, hint, type = "text", options, value, ...attributes } = field;
  const id = `field-${++dialogs}`;
  const hintId = hint ? `${id}-hint` : null;
  const common = { ...attributes, id, name, "aria-describedby": hintId };
  let input;
  if (type === "select") {
    input = h("select", { ...common, value }, options.map((option) => {
      const { value: one, text } = typeof option === "object" ? option : { value: option };
      return h("option", { value: one }, text ?? one);
    }));
  } else if (type === "textarea") {
    input = h("textarea", { rows: 2, ...common, value });
  } else if (type === "checkbox") {
    input = h("input", { ...common, type, checked: Boolean(value) });
  } else {
    input = h("input", { autocomplete: "off", ...common, type, value });
  }
  const text = h("label", { for: id }, label);
  return h("div", { class: type === "checkbox" ? "field check" : "field" },
           type === "checkbox" ? [input, text] : [text, input],
           hint && h("p", { class: "hint", id: hintId }, hint));
}

/// Shows a dialog and returns a promise of the form's data (FormData); null if it was cancelled.
/// options: title, body (nodes), fields (see fieldOf), confirm (the button's text), cancel, danger,
/// wide, submit(data): awaited before the dialog closes, an error it throws is shown in the dialog,
/// opened({dialog, form, button}): called once the dialog is shown.
export function ask(options) {
  const { title, body = [], fields = [], confirm = "OK", cancel = "Cancel" } = options;
  const id = `dialog-${++dialogs}`;
  const trouble = h("div", { class: "trouble", role: "alert" });
  const button = h("button", { type: "submit", class: options.danger ? "danger" : "primary" },
                   confirm);
  const form = h("form", { novalidate: Boolean(options.novalidate) },
                 h("h2", { id }, title), h("div", { class: "dialog-body" }, body,
                   fields.map(fieldOf)), trouble,
                 h("div", { class: "buttons" },
                   h("button", { type: "button", onclick: () => dialog.close() }, cancel), button));
  const dialog = h("dialog", { "aria-labelledby": id, class: options.wide ? "wide" : null }, form);
  document.body.append(dialog);
  const answer = new Promise((resolve) => {
    let result = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (button.getAttribute("aria-busy") || button.disabled) return;
      const data = new FormData(form);
      replace(trouble);
      button.setAttribute("aria-busy", "true");
      try {
        await options.submit?.(data);
        result = data;
        dialog.close();
      } catch (error) {
        replace(trouble, error.message);
      } finally {
        button.removeAttribute("aria-busy");
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
  });
  dialog.showModal();
  options.opened?.({ dialog, form, button });
  return answer;
}
