// The versions of a key, and the difference of two of them.

import { may } from "../../api.js";
import { h, replace } from "../../dom.js";
import { badge, longText, nameElement, timeElement } from "../../elements.js";
import { dateText, isSame, percentText, printable } from "../../format.js";
import { href, setQuery } from "../../router.js";
import { table } from "../../table.js";
import { pin, rollBack } from "./actions.js";
import { changeText, settingsTable } from "./settings.js";

const STAGES = {
  staged: { kind: "accent", hint: "canaries get it, and jobs of the tokens that have kept it" },
  released: { kind: "good", hint: "every job gets it" },
  withdrawn: { kind: "warning", hint: "no job gets it: it was rolled back" },
  held: { kind: "", hint: "no job gets it: found while the key was pinned, or none could run it" },
};

/// Returns the number of the version that jobs get, 0 for none.
export function currentOf(versions) {
  return versions.findLast((one) => one.stage === "released")?.version ?? 0;
}

/// Returns for each version what changed, counted from the one released before it, oldest first.
function withChanges(versions, known) {
  let before = {};
  return versions.map((version) => {
    const config = version.config ?? {};
    const isDefault = Object.keys(config).length === 0;
    const what = isDefault ? "the default" : changeText(before, config, known);
    // A version that was withdrawn had been released, or was never anybody's.
    if (version.stage !== "held") before = config;
    return { ...version, what };
  });
}

function whoText({ origin, study, study_removed: isRemoved, actor }) {
  return [origin, study, isRemoved ? "(removed)" : "", actor && `by ${actor}`]
    .filter(Boolean).join(" ");
}

function whoNode(version) {
  const { origin, study, study_removed: isRemoved, actor } = version;
  const named = study && (isRemoved ? [nameElement(study), " (removed)"]
    : h("a", { href: href(["studies", study]) }, nameElement(study)));
  return h("span", null, origin, named && [" ", named], actor && [" by ", nameElement(actor)]);
}

/// Returns for whose jobs a version is that is not for all; "" for the others.
function ownersText({ stage, kept_by: owners }) {
  return stage === "staged" && owners?.length ? ` for ${owners.map(printable).join(", ")}` : "";
}

function stageNode(version) {
  const { stage, isCurrent } = version;
  const { kind, hint } = STAGES[stage] ?? { kind: "", hint: "" };
  const shown = badge(stage, kind);
  shown.title = hint;
  return h("span", null, shown, ownersText(version), isCurrent && [" ", badge("current", "good")]);
}

function rowTools(on, version) {
  const label = (text) => `${text} version ${version.version}`;
  return h("span", { class: "tools" },
    h("a", { href: href(["configs", on.key], { diff: `default,${version.version}` }),
             "aria-label": label("Compare with the default:") }, "compare"),
    may("admin") && [
      h("button", { type: "button", "aria-label": label("Pin"),
                    onclick: () => pin(on, version.version) }, "Pin…"),
      !version.isCurrent && h("button", { type: "button", "aria-label": label("Roll back to"),
                    onclick: () => rollBack(on, version.version) }, "Roll back…")]);
}

/// Returns a table of versions, newest first; on: {key, name} of their key.
export function versionsTable(versions, on, known) {
  const current = currentOf(versions);
  const rows = withChanges(versions, known)
    .map((version) => ({ ...version, isCurrent: version.version === current })).reverse();
  return table({
    caption: "Versions, newest first", rows, key: (row) => row.version, cards: true,
    mark: (row) => (row.isCurrent ? "current" : null),
    columns: [
      { name: "Version", text: (row) => String(row.version), sort: (row) => row.version },
      { name: "Stage", text: (row) => `${row.stage}${ownersText(row)} ${row.isCurrent}`,
        node: stageNode,
        sort: (row) => row.stage },
      { name: "When", text: (row) => dateText(row.promoted_at_ns),
        sort: (row) => row.promoted_at_ns, node: (row) => timeElement(row.promoted_at_ns),
        class: "nowrap" },
      { name: "Who", text: whoText, node: whoNode, sort: whoText,
        class: "medium" },
      { name: "What changed", text: (row) => row.what, node: (row) => longText(row.what),
        class: "wide" },
      { name: "Gain", numeric: true, sort: (row) => row.gain, hint: "against the default, measured",
        text: (row) => percentText(row.gain) },
      { name: "Why", text: (row) => printable(row.note), node: (row) => longText(row.note || "–"),
        class: "medium" },
      { name: "Actions", text: (row) => `${row.version} ${row.isCurrent}`,
        class: "nowrap", node: (row) => rowTools(on, row) },
    ],
  });
}

/// Returns "3" and "5" of the address's "diff=3,5"; else the two versions that were current last.
export function chosenPair(text, versions) {
  const pair = (text ?? "").split(",");
  if (pair.length === 2) return pair;
  const current = currentOf(versions);
  const before = versions.findLast((one) => one.version < current && one.stage !== "held");
  const newest = versions.at(-1)?.version ?? 0;
  if (newest > current) return [current > 0 ? String(current) : "default", String(newest)];
  return [before ? String(before.version) : "default", String(current)];
}

/// Two versions side by side; which ones is in the address (diff=a,b).
export class VersionDiff {
  element = h("section", { class: "panel" });
  #selects;
  #table = h("div");
  #shown = null;
  #numbers = null;

  constructor() {
    const select = (label, index) => h("select", { "aria-label": label, onchange: () => {
      const pair = this.#selects.map((one) => one.value);
      setQuery({ diff: pair.join(",") }, { replace: index < 0 });
    } });
    this.#selects = [select("First version to compare", 0), select("Second version to compare", 1)];
    replace(this.element, h("div", { class: "view-head" }, h("h2", null, "Difference"),
      h("div", { class: "tools" }, this.#selects[0], "with", this.#selects[1])), this.#table);
  }

  update(versions, pair, known) {
    const numbers = versions.map((one) => [one.version, one.stage]);
    if (!isSame(numbers, this.#numbers)) {
      this.#numbers = numbers;
      for (const select of this.#selects) {
        replace(select, h("option", { value: "default" }, "the default"),
                versions.toReversed().map(({ version, stage }) =>
                  h("option", { value: version }, `version ${version} (${stage})`)));
      }
    }
    pair.forEach((value, index) => { this.#selects[index].value = value; });
    if (isSame([numbers, pair], this.#shown)) return;
    this.#shown = [numbers, pair];
    const sides = pair.map((value) => this.#side(value, versions));
    const isEmpty = sides.every((side) => side && Object.keys(side.config).length === 0);
    replace(this.#table, sides.includes(null)
      ? h("p", { class: "hint" }, "The key has no such version. Choose two of the list.")
      : isEmpty ? h("p", null, "They are the same: neither has values.")
      : settingsTable({ caption: `${sides[0].name} and ${sides[1].name}`, known,
                        before: sides[0], after: sides[1] }));
  }

  #side(value, versions) {
    if (value === "default") return { name: "Default", config: {} };
    const found = versions.find((one) => String(one.version) === value);
    return found ? { name: `Version ${value}`, config: found.config ?? {} } : null;
  }
}
