// The view of running jobs: the list, and one job at #/jobs/ID.

import { get } from "../../api.js";
import { addStyle, h, replace } from "../../dom.js";
import { printable } from "../../format.js";
import { live } from "../../live.js";
import { failed, loading } from "../../states.js";
import { JobList } from "./list.js";
import { oneAtATime } from "../refresh.js";

const AUDIT_ENTRIES = 40;  // searched for the last push; few, since the first view waits for them

await addStyle(new URL("../../jobs.css", import.meta.url));

export default class extends HTMLElement {
  #id = null;
  #part = null;
  #store = null;
  #isStoreKnown = false;
  #refresh = oneAtATime(() => this.#load());
  #onJobs = () => this.#refresh();
  #onStore = () => {
    this.#isStoreKnown = false;
    this.#refresh();
  };

  set route(route) {
    const id = route.path[1] ?? "";
    if (id !== this.#id) {
      this.#id = id;
      this.#part = null;
      this.#isStoreKnown = false;
      replace(this, h("div", { class: "view-part" }, h("h1", null, id ? "Job" : "Jobs"),
                      loading()));
      if (this.isConnected) this.#refresh();
    }
    this.lastRoute = route;
    if (this.#part) this.#part.route = route;
  }

  connectedCallback() {
    live.addEventListener("jobs", this.#onJobs);
    live.addEventListener("store", this.#onStore);
    this.#refresh();
  }

  disconnectedCallback() {
    live.removeEventListener("jobs", this.#onJobs);
    live.removeEventListener("store", this.#onStore);
  }

  async #makePart(id) {
    if (!id) return new JobList();
    const { JobPage } = await import("./page.js");
    return new JobPage(id);
  }

  /// Loads what the part needs besides the jobs, which changes seldom.
  async #loadStore(id) {
    if (!id) return get(`/v1/audit?limit=${AUDIT_ENTRIES}`);
    const { knobs } = await import("../configs/settings.js");
    const [{ configs }, known] = await Promise.all([get("/v1/configs"), knobs()]);
    return { configs, known };
  }

  async #load() {
    const id = this.#id;
    try {
      const isKnown = this.#isStoreKnown;
      this.#isStoreKnown = true;
      const [{ jobs }, store, part] = await Promise.all([
        get("/v1/jobs"), isKnown ? this.#store : this.#loadStore(id),
        this.#part ?? this.#makePart(id)]);
      if (!this.isConnected || id !== this.#id) return;
      this.#store = store;
      this.#show(part, { jobs, ...store }, id);
    } catch (error) {
      this.#isStoreKnown = false;
      // The old content stays: the shell's banner says that it is out of date.
      if (!this.isConnected || id !== this.#id || this.#part) return;
      replace(this, h("div", { class: "view-part" }, h("h1", null, id ? "Job" : "Jobs"),
                      failed(error, () => this.#refresh())));
    }
  }

  #show(part, data, id) {
    if (this.#part !== part) {
      this.#part = part;
      replace(this, part.element);
      if ("route" in part) part.route = this.lastRoute;
    }
    part.update(data);
    const job = id ? data.jobs.find((one) => one.job === id) : null;
    const name = printable(job?.name || id).slice(0, 80);
    this.dispatchEvent(new CustomEvent("title", { detail: id ? name : "Jobs", bubbles: true }));
  }
}
