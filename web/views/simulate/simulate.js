// #/simulate?profile=NAME&credit_bytes=…: predicts an iteration of a profiled job, or of a step
// description, as its settings are moved. All settings are in the address.

import { get, send } from "../../api.js";
import { addStyle, h, replace, setText } from "../../dom.js";
import { printable } from "../../format.js";
import { live } from "../../live.js";
import { setQuery } from "../../router.js";
import { empty, failed, loading } from "../../states.js";
import { oneAtATime } from "../refresh.js";
import { SimulateForm } from "./form.js";
import { SimulateResult } from "./result.js";
import { commandOf, queryOf, requestOf, settingsOf } from "./settings.js";
import { profileChoice } from "../timeline/choice.js";

const styles = Promise.all(["timeline.css", "simulate.css"].map((name) =>
  addStyle(new URL(`../../${name}`, import.meta.url))));
const PAUSE_MS = 120;
const MOST_FILE_BYTES = 8 << 20;

// A file that was opened stays for as long as the page does: the address cannot hold it.
let opened = null;

export default class SimulateView extends HTMLElement {
  #route = null;
  #knobs = [];
  #profiles = [];
  #settings = null;
  #answer = null;
  #base = null;
  #baseKey = "";
  #form = null;
  #result = null;
  #timer = 0;
  #predict = oneAtATime(() => this.#predictNow());
  #refresh = oneAtATime(() => this.#loadProfiles());

  set route(route) {
    this.#route = route;
    if (this.#form) this.#follow();
  }

  connectedCallback() {
    live.addEventListener("store", this.#refresh);
    this.#load();
  }

  disconnectedCallback() {
    live.removeEventListener("store", this.#refresh);
    clearTimeout(this.#timer);
    this.#form = null;
  }

  async #load() {
    this.dispatchEvent(new CustomEvent("title", { bubbles: true, detail: "Simulate" }));
    replace(this, loading("Loading the profiles"));
    try {
      await styles;
      const [{ profiles }, { knobs }] = await Promise.all([get("/v1/profiles"), get("/v1/knobs")]);
      if (!this.isConnected) return;
      this.#profiles = profiles;
      this.#knobs = knobs;
      this.#show();
    } catch (error) {
      replace(this, h("h1", null, "Simulate"), failed(error, () => this.#load()));
    }
  }

  /// A profile may have been added or removed.
  async #loadProfiles() {
    if (!this.#form) return;
    try {
      const { profiles } = await get("/v1/profiles");
      const isSame = JSON.stringify(profiles.map((one) => one.profile)) ===
        JSON.stringify(this.#profiles.map((one) => one.profile));
      this.#profiles = profiles;
      if (this.#form && !isSame) this.#showSettings();
    } catch {
      // The list stays as it was; the banner of the shell says that the daemon does not answer.
    }
  }

  #show() {
    this.#settings = settingsOf(this.#route.query, this.#knobs);
    this.#form = new SimulateForm(this.#knobs, (edit) => this.#change(edit));
    this.#result = new SimulateResult();
    this.command = h("code");
    this.copied = h("span", { role: "status", class: "hint" });
    this.choice = h("div", { class: "timeline-choice" });
    this.trouble = h("div", { role: "alert" });
    replace(this,
      h("header", { class: "timeline-head" }, h("h1", null, "Simulate"),
        h("button", { type: "button", onclick: () => this.#reset() }, "Reset")),
      h("p", { class: "hint" }, "Predicts an iteration under other settings, without running it."),
      this.choice,
      h("div", { class: "simulate-columns" }, this.#form.element,
        h("div", { class: "simulate-main" }, this.trouble, this.#result.element)),
      h("div", { class: "simulate-command" },
        h("p", { class: "hint" }, "The same in a terminal:"), h("pre", null, this.command),
        h("button", { type: "button", onclick: () => this.#copy() },
          "Copy as hocket simulate command"), this.copied));
    this.#showSettings();
    this.#predict();
  }

  /// The address changed by other means than a control: back, forward or a link.
  #follow() {
    const settings = settingsOf(this.#route.query, this.#knobs);
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
    this.#settings = settings;
    this.#showSettings();
    this.#predict();
  }

  #change(edit) {
    edit(this.#settings);
    this.#showSettings();
    this.#result.setBusy(true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#keep(true);
      this.#predict();
    }, PAUSE_MS);
  }

  #keep(replacing) {
    setQuery(queryOf(this.#settings, this.#knobs), { replace: replacing });
  }

  #reset() {
    const { profile, step } = this.#settings;
    this.#settings = settingsOf(new URLSearchParams({ profile, step }), this.#knobs);
    this.#showSettings();
    this.#keep(false);
    this.#predict();
  }

  #showSettings() {
    const { profile, step } = this.#settings;
    replace(this.choice,
      profileChoice("Profile", this.#profiles, step ? "" : profile, (name) =>
        this.#choose({ profile: name ?? "", step: "" })),
      h("label", null, "or a step description", h("input", { type: "file",
        accept: ".json,application/json",
        onchange: (event) => this.#open(event.target.files[0]) })),
      step && h("span", null, "open: ", h("bdi", null, printable(step))));
    this.#form.show(this.#settings, this.#answer);
    setText(this.command, profile || step ? commandOf(this.#settings) : "");
  }

  /// Another step has another configuration, so nothing of the last one's is kept.
  #choose(what) {
    const query = new URLSearchParams(Object.entries(what).filter(([, value]) => value));
    this.#settings = settingsOf(query, this.#knobs);
    this.#answer = null;
    this.#base = null;
    this.#baseKey = "";
    this.#showSettings();
    this.#keep(false);
    this.#predict();
  }

  async #open(file) {
    if (!file) return;
    try {
      if (file.size > MOST_FILE_BYTES) throw new Error("it is larger than 8 MiB");
      const step = JSON.parse(await file.text());
      if (step === null || typeof step !== "object") throw new Error("it is no JSON object");
      opened = { name: file.name, step };
      this.#choose({ profile: "", step: file.name });
    } catch (error) {
      this.#complain(`${file.name} is no step description.`,
                     `${error.message}. docs/formats/step.md says what such a file has.`);
    }
  }

  #complain(title, message) {
    replace(this.trouble, h("div", { class: "state failed" },
      h("p", { class: "state-title" }, title), h("p", null, h("bdi", null, printable(message)))));
  }

  #stepOf() {
    return this.#settings.step && opened?.name === this.#settings.step ? opened.step : null;
  }

  async #predictNow() {
    const settings = structuredClone(this.#settings), step = this.#stepOf();
    if (!settings.profile && !step) {
      this.#showNothing(settings);
      return;
    }
    this.#result.setBusy(true);
    try {
      const answer = await send("POST", "/v1/simulate", requestOf(settings, step));
      if (!this.#form) return;
      this.#answer = answer;
      replace(this.trouble);
      const isSame = Object.keys(settings.config).length === 0;
      if (isSame) this.#base = answer;
      await this.#ensureBase(settings, step, answer);
      if (!this.#form) return;
      this.#result.show(answer, isSame ? null : this.#base);
      this.#form.show(this.#settings, answer);
    } catch (error) {
      if (!this.#form) return;
      this.#complain("This cannot be predicted.", error.message);
    }
    this.#result.setBusy(JSON.stringify(settings) !== JSON.stringify(this.#settings));
  }

  /// The baseline runs on the same ranks and links, so it changes with them but not with the knobs.
  async #ensureBase(settings, step, answer) {
    const request = requestOf(settings, step, {});
    const key = JSON.stringify(step ? { ...request, step: settings.step } : request);
    if (this.#base !== answer && key !== this.#baseKey) {
      // The prediction is worth showing also if its baseline fails.
      this.#base = await send("POST", "/v1/simulate", request).catch(() => null);
    }
    this.#baseKey = this.#base ? key : "";
  }

  #showNothing(settings) {
    replace(this.trouble);
    this.#result.setBusy(false);
    if (settings.step) {
      this.#result.clear(empty(`The file ${settings.step} is not open any more.`,
        "Its contents are not in the address: open it again above."));
    } else if (this.#profiles.length === 0) {
      this.#result.clear(empty("There is no profile yet.", h("span", null, "Record one with ",
        h("code", null, "hocket profile JOB --iterations 20"), ", or open a step description, " +
        "such as one of ", h("code", null, "examples/steps"), ".")));
    } else {
      this.#result.clear(empty("Nothing is chosen yet.",
        "Choose a profile above, or open a step description; then move the sliders."));
    }
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.command.textContent);
      setText(this.copied, "Copied");
    } catch {
      // Over plain HTTP from another host a page may not copy; the reader can.
      getSelection().selectAllChildren(this.command);
      setText(this.copied, "It is selected: copy it with Ctrl+C");
    }
  }
}
