// #/studies: the list of studies; #/studies/NAME: one of them.

import { addStyle, replace } from "../dom.js";
import { live } from "../live.js";
import { StudyList } from "./studies_list.js";
import { Study } from "./studies_study.js";

await addStyle(new URL("../studies.css", import.meta.url));

export default class extends HTMLElement {
  #route = { path: ["studies"], query: new URLSearchParams() };
  #part = null;
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
  }

  #go() {
    const name = this.#route.path[1] ?? "";
    if (this.#part?.name !== name) {
      this.#part?.close();
      this.#part = name === "" ? new StudyList() : new Study(name);
      replace(this, this.#part.element);
      const title = name === "" ? "Studies" : `Study ${name}`;
      this.dispatchEvent(new CustomEvent("title", { detail: title, bubbles: true }));
      this.#part.route(this.#route.query);
      this.#part.refresh();
    } else {
      this.#part.route(this.#route.query);
    }
  }
}
