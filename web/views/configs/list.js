// All keys that have a version, or are pinned or frozen.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { badge, nameElement } from "../../elements.js";
import { countedText, shortKey } from "../../format.js";
import { href, setQuery } from "../../router.js";
import { empty } from "../../states.js";
import { table } from "../../table.js";

/// Returns badges of a key's state; also what a screen reader and the search read.
export function keyStates(config) {
  return [config.pinned && ["pinned", "accent"], config.frozen && ["frozen", "accent"],
          config.tuning_stopped && ["tuning stopped", "bad"]].filter(Boolean);
}

function stateText(config) {
  return keyStates(config).map(([text]) => text).join(", ") || "–";
}

function stateNode(config) {
  const states = keyStates(config);
  return h("span", { class: "badges" },
           states.length > 0 ? states.map(([text, kind]) => badge(text, kind)) : "–");
}

export class ConfigList {
  element = h("div", { class: "view-part" });
  title = "Configurations";
  #count = h("p", { class: "lead" });
  #filter;
  #list = h("div");
  #table = null;
  #find = "";
  #data = null;

  constructor() {
    this.#filter = h("input", { type: "search", autocomplete: "off",
      placeholder: "workload, topology",
      oninput: () => setQuery({ find: this.#filter.value }, { replace: true }) });
    replace(this.element, h("div", { class: "view-head" },
      h("div", null, h("h1", null, "Configurations"), this.#count),
      h("div", { class: "tools" }, h("label", { class: "search" }, "Find ", this.#filter),
        h("a", { class: "button", href: href(["configs", "audit"]) }, "Audit of everything"))),
      this.#list);
  }

  set route({ query }) {
    this.#find = query.get("find") ?? "";
    if (this.#filter.value !== this.#find) this.#filter.value = this.#find;
    if (this.#data) this.update(this.#data);
  }

  load() {
    return get("/v1/configs");
  }

  update(data) {
    this.#data = data;
    const { configs } = data;
    replace(this.#count, countedText(configs.length, "key"),
            ", each a pair of topology and workload");
    if (configs.length === 0) {
      this.#table = null;
      replace(this.#list, empty("No key has a configuration yet.",
        ["A study promotes what it finds (", h("code", null, "hocket tune"),
         "), live tuning what a job keeps, and ", h("code", null, "hocket push"),
         " what you choose."]));
      return;
    }
    const words = this.#find.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.#named(configs).filter((one) => {
      const text = `${one.shown} ${one.key} ${one.topology} ${stateText(one)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (this.#table) {
      this.#table.update(rows);
    } else {
      this.#table = this.#make(rows);
      replace(this.#list, this.#table);
    }
  }

  /// Scripts of one name are told apart by their paths.
  #named(configs) {
    const counts = Map.groupBy
      ? Map.groupBy(configs, (one) => one.workload) : new Map();
    return configs.map((one) => ({ ...one,
      shown: (counts.get(one.workload)?.length ?? 0) > 1 && one.program ? one.program
                                                                       : one.workload }));
  }

  #make(rows) {
    return table({
      caption: "Keys", rows, key: (row) => row.key, cards: true,
      link: (row) => href(["configs", row.key]), sort: { column: "Workload", descending: false },
      columns: [
        { name: "Workload", text: (row) => row.shown, node: (row) => nameElement(row.shown),
          sort: (row) => row.shown },
        { name: "Topology", text: (row) => row.topology, node: (row) => nameElement(row.topology),
          sort: (row) => row.topology },
        { name: "Version", numeric: true, text: (row) => String(row.version ?? "–"),
          sort: (row) => row.version },
        { name: "State", text: stateText, sort: stateText, node: stateNode },
        { name: "Key", text: (row) => row.key, sort: (row) => row.key,
          node: (row) => h("span", { class: "mono", title: row.key }, shortKey(row.key)) },
      ],
    });
  }
}
