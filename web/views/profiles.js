// #/profiles: the list of profiles; #/profiles/NAME: one; #/profiles/A/diff/B: two compared.

import { addStyle, replace } from "../dom.js";
import { live } from "../live.js";
import { ProfileDiff } from "./profiles_diff.js";
import { ProfileList } from "./profiles_list.js";
import { Profile } from "./profiles_profile.js";

await addStyle(new URL("../profiles.css", import.meta.url));

function partOf(path) {
  if (path.length >= 4 && path[2] === "diff") {
    const [, before, , after] = path;
    return { title: `${before} against ${after}`, make: () => new ProfileDiff(before, after) };
  }
  if (path.length >= 2) return { title: `Profile ${path[1]}`, make: () => new Profile(path[1]) };
  return { title: "Profiles", make: () => new ProfileList() };
}

export default class extends HTMLElement {
  #route = { path: ["profiles"], query: new URLSearchParams() };
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
      const { title, make } = partOf(path);
      this.#part = make();
      replace(this, this.#part.element);
      this.dispatchEvent(new CustomEvent("title", { detail: title, bubbles: true }));
    }
    this.#part.route(query);
    if (isOther) this.#part.refresh();
  }
}
