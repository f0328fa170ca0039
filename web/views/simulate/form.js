// The form of the simulator: all controls, kept in step with the settings and the last answer.

import { h } from "../../dom.js";
import { decades, knobControl, numberControl, scaleOf } from "./controls.js";

const MAIN = ["partition_bytes", "credit_bytes", "comm_channels", "streams", "order",
              "bucket_bytes"];
/// The first values of a link that is changed: in the middle of the sliders.
const FIRST_LINK = { network_link: { gbit: 10, us: 20 }, host_link: { gbit: 300, us: 5 } };
const LINK_NAMES = { network_link: "Network between hosts", host_link: "Link inside a host" };

/// `change(edit)`: calls edit(settings) and predicts anew.
export class SimulateForm {
  #controls = new Map();
  #links = new Map();

  constructor(knobs, change) {
    this.change = change;
    this.knobs = knobs;
    const order = [...knobs].sort((a, b) => rank(a.name) - rank(b.name));
    const main = order.filter(({ name }) => MAIN.includes(name));
    const more = order.filter(({ name, simulated }) => !MAIN.includes(name) && simulated !== false);
    const onsubmit = (event) => event.preventDefault();
    this.element = h("form", { class: "simulate-form", onsubmit },
      h("fieldset", null, h("legend", null, "Configuration"),
        main.map((knob) => this.#knob(knob)),
        more.length > 0 && h("details", null, h("summary", null, "More knobs"),
                             more.map((knob) => this.#knob(knob)))),
      h("fieldset", null, h("legend", null, "Cluster"),
        this.#number("ranks", { label: "Ranks", meaning: "processes that train together, one a GPU",
          scale: scaleOf({ low: 1, high: 4096, isLogarithmic: true }), low: 1, high: 1048576,
          isWhole: true }),
        this.#number("ranks_per_host", { label: "Ranks per host", meaning: "how many share a host",
          scale: scaleOf({ low: 1, high: 64, isLogarithmic: true }), low: 1, high: 1048576,
          isWhole: true }),
        this.#number("compute_scale", { label: "Compute scale",
          meaning: "factor on the times of computations: 0.5 for devices twice as fast",
          scale: decades(0.1, 10), low: 0.001, high: 1000 }),
        this.#number("bandwidth_scale", { label: "Bandwidth scale",
          meaning: "factor on the bandwidth of all links: 2 for links twice as fast",
          scale: decades(0.1, 10), low: 0.001, high: 1000 }),
        Object.keys(LINK_NAMES).map((name) => this.#link(name))));
  }

  #knob(knob) {
    const control = knobControl(knob, {
      onchange: (value) => this.change((settings) => { settings.config[knob.name] = value; }),
      onreset: () => this.change((settings) => { delete settings.config[knob.name]; }) });
    this.#controls.set(knob.name, control);
    return control;
  }

  #number(name, options) {
    const control = numberControl({ ...options,
      onchange: (value) => this.change((settings) => { settings[name] = value; }),
      onreset: () => this.change((settings) => { settings[name] = null; }) });
    this.#controls.set(name, control);
    return control;
  }

  /// A link is as it was measured or described until it is changed.
  #link(name) {
    const part = (field, options) => numberControl({ ...options, onreset: () => {},
      onchange: (value) => this.change((settings) => {
        settings[name] = { ...(settings[name] ?? FIRST_LINK[name]), [field]: value };
      }) });
    const gbit = part("gbit", { label: "Rate", unit: "Gbit/s", scale: decades(0.1, 4000),
                                low: 0.001, high: 1e6 });
    const us = part("us", { label: "Latency", unit: "µs", scale: decades(0.5, 5000), low: 0,
                            high: 1e6 });
    const check = h("input", { type: "checkbox", onchange: () => this.change((settings) => {
      settings[name] = check.checked ? { ...FIRST_LINK[name] } : null;
    }) });
    const sliders = h("div", { class: "link-sliders", hidden: true }, gbit, us);
    this.#links.set(name, { check, sliders, gbit, us });
    return h("div", { class: "simulate-link" },
      h("label", null, check, ` ${LINK_NAMES[name]}: choose rate and latency`), sliders);
  }

  /// Shows the settings, and where nothing is set what `answer` was predicted with.
  show(settings, answer) {
    for (const { name, default: given } of this.knobs) {
      const value = settings.config[name] ?? answer?.config?.[name] ?? given;
      this.#controls.get(name)?.set(value, name in settings.config);
    }
    for (const name of ["ranks", "ranks_per_host"])
      this.#controls.get(name).set(settings[name] ?? answer?.[name], settings[name] !== null);
    for (const name of ["compute_scale", "bandwidth_scale"])
      this.#controls.get(name).set(settings[name] ?? 1, settings[name] !== null);
    for (const [name, { check, sliders, gbit, us }] of this.#links) {
      const link = settings[name];
      check.checked = link !== null;
      sliders.hidden = link === null;
      gbit.set((link ?? FIRST_LINK[name]).gbit, false);
      us.set((link ?? FIRST_LINK[name]).us, false);
    }
  }
}

function rank(name) {
  const place = MAIN.indexOf(name);
  return place < 0 ? MAIN.length : place;
}
