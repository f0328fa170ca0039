// A view of what is stored: it shows one part for each path, and asks again when the store changes.

import { replace } from "../dom.js";
import { live } from "../live.js";

/// Subclasses say by partOf(path) → {title, make} what a path shows. A part has `element`,
/// route(query), refresh() and close().
export class StoredView extends HTMLElement {
  #route = { path: [], query: new URLSearchParams() };
  #part = null;
  #shown = null;
  #refresh = () => this.#part?.refresh();

  set route(route) {
    this.#route = route;
    if (this.isConnected) this.#go();
  }

  connectedCallback() {
    live.addEventListener("store", this.#refresh);
    this.#go();
  }

  disconnectedCallback() {
    live.removeEventListener("store", this.#refresh);
    this.#part?.close();
    this.#part = null;
    this.#shown = null;
  }

  #go() {
    const { path, query } = this.#route;
    const wanted = path.join("\n");
    const isOther = wanted !== this.#shown;
    if (isOther) {
      this.#shown = wanted;
      this.#part?.close();
      const { title, make } = this.partOf(path);
      this.#part = make();
      replace(this, this.#part.element);
      this.dispatchEvent(new CustomEvent("title", { detail: title, bubbles: true }));
    }
    this.#part.route(query);
    if (isOther) this.#part.refresh();
  }
}
