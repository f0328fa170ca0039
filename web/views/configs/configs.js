// The view of configurations: all keys, one at #/configs/KEY, and the audit at #/configs/audit.

import { addStyle, h, replace } from "../../dom.js";
import { live } from "../../live.js";
import { failed, loading } from "../../states.js";
import { ConfigList } from "./list.js";
import { oneAtATime } from "../refresh.js";

await addStyle(new URL("../../jobs.css", import.meta.url));

async function partOf(name) {
  if (!name) return new ConfigList();
  if (name === "audit") return new (await import("./audit.js")).AuditPage();
  return new (await import("./key.js")).KeyPage(name);
}

function headingOf(name) {
  return name === "audit" ? "Audit" : name ? "Configuration" : "Configurations";
}

/// A part has an element, a title, load() and update(what load returned), and takes the route.
export default class extends HTMLElement {
  #name = null;
  #part = null;
  #route = null;
  #refresh = oneAtATime(() => this.#load());
  #onChange = () => this.#refresh();

  set route(route) {
    const name = route.path[1] ?? "", isSamePart = name === this.#name;
    this.#route = route;
    this.#name = name;
    if (!isSamePart) {
      this.#part = null;
      replace(this, h("div", { class: "view-part" }, h("h1", null, headingOf(name)), loading()));
    } else if (this.#part) {
      this.#part.route = route;
    }
    // The audit's parameters decide what is loaded.
    if (this.isConnected && (!isSamePart || name === "audit")) this.#refresh();
  }

  connectedCallback() {
    live.addEventListener("store", this.#onChange);
    this.#refresh();
  }

  disconnectedCallback() {
    live.removeEventListener("store", this.#onChange);
  }

  async #load() {
    const name = this.#name;
    const isCurrent = () => this.isConnected && name === this.#name;
    try {
      const part = this.#part ?? await partOf(name);
      if (!isCurrent()) return;
      if (!this.#part) part.route = this.#route;
      const data = await part.load();
      if (!isCurrent()) return;
      if (!this.#part) {
        this.#part = part;
        replace(this, part.element);
      }
      part.update(data);
      this.dispatchEvent(new CustomEvent("title", { detail: part.title, bubbles: true }));
    } catch (error) {
      if (!isCurrent() || this.#part) return;
      replace(this, h("div", { class: "view-part" }, h("h1", null, headingOf(name)),
                      failed(error, () => this.#refresh())));
    }
  }
}
