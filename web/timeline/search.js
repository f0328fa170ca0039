// The search field of a timeline.

import { h, setText } from "../dom.js";
import { countedText } from "../format.js";

const PAUSE_MS = 250;

export class Search {
  #timer = 0;
  #abort = null;

  /// `timeline`: source, find({text, backward}, signal) → the daemon's answer after having gone
  /// there, focusCanvas().
  constructor(timeline, container) {
    this.timeline = timeline;
    this.input = h("input", { type: "search", placeholder: "Search names", spellcheck: "false",
      "aria-label": "Search names of records", autocomplete: "off",
      oninput: () => this.#typed(), onkeydown: (event) => this.#key(event) });
    this.count = h("span", { class: "hkt-count", role: "status" });
    const button = (text, label, backward) => h("button", {
      type: "button", "aria-label": label, title: label, onclick: () => this.go(backward) }, text);
    container.append(this.input, button("‹", "Previous match", true),
                     button("›", "Next match", false), this.count);
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  get text() {
    return this.input.value.trim();
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    if (this.text === "") {
      setText(this.count, "");
      return;
    }
    this.#timer = setTimeout(() => this.#countMatches(), PAUSE_MS);
  }

  async #countMatches() {
    const text = this.text;
    await this.#ask((signal) => this.timeline.source.find({ text }, { signal }));
  }

  async go(backward) {
    clearTimeout(this.#timer);
    if (this.text === "") {
      this.focus();
      return;
    }
    const text = this.text;
    const answer = await this.#ask((signal) => this.timeline.find({ text, backward }, { signal }));
    if (answer && answer.found === null && answer.matches > 0) {
      setText(this.count, `${countedText(answer.matches, "match", "matches")}, none ` +
              (backward ? "before this" : "after this"));
    }
  }

  async #ask(request) {
    this.#abort?.abort();
    this.#abort = new AbortController();
    try {
      const answer = await request(this.#abort.signal);
      setText(this.count, answer.matches === 0 ? "no match"
                                               : countedText(answer.matches, "match", "matches"));
      return answer;
    } catch (error) {
      if (error.name !== "AbortError") setText(this.count, error.message);
      return null;
    }
  }

  #key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.go(event.shiftKey);
    } else if (event.key === "Escape") {
      this.timeline.focusCanvas();
    }
  }
}
