// The daemon's stream of changes. EventSource cannot send a token, so this reads the stream itself.

import { pageVersion, request } from "./api.js";

const STALE_MS = 35_000;  // more than two of the comments that come every 15 s
const FIRST_WAIT_MS = 300, LONGEST_WAIT_MS = 15_000;
const HIDDEN_MS = 60_000;
const RELOADED = "hocket.reloaded";

/// Reloads the page once for each version of the daemon's that is not this page's.
export function reloadFor(version) {
  if (!version || version === pageVersion()) return;
  if (sessionStorage.getItem(RELOADED) === version) return;
  sessionStorage.setItem(RELOADED, version);
  location.reload();
}

/// Splits a stream of text into events: {type, data}.
export class EventParser {
  #rest = "";
  #type = "";
  #data = [];

  /// Returns the events that `text` completes.
  push(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    const events = [];
    for (const line of lines.map((one) => one.replace(/\r$/, ""))) {
      if (line === "") {
        if (this.#data.length > 0) events.push({ type: this.#type, data: this.#data.join("\n") });
        this.#type = "";
        this.#data = [];
      } else if (line.startsWith("event:")) {
        this.#type = line.slice(6).trim();
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(5).replace(/^ /, ""));
      }
    }
    return events;
  }
}

/// Events: "jobs" and "store" when something of them changed, "state" when `state` did.
class Live extends EventTarget {
  state = "off";  ///< "off", "connecting", "live" or "stale"
  heardAtMs = 0;  ///< when the daemon was heard last
  #numbers = {};
  #running = null;
  #timer = 0;
  #hiding = 0;

  constructor() {
    super();
    // A browser opens six connections to a host. Tabs that nobody looks at leave theirs to others.
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hiding);
      if (document.hidden) {
        this.#hiding = setTimeout(() => this.#pause(), HIDDEN_MS);
      } else if (this.state === "paused") {
        this.start();
      }
    });
  }

  /// Begins to listen; again with a new token.
  start() {
    this.#running?.abort();
    this.#running = new AbortController();
    this.#numbers = {};
    this.#set("connecting");
    this.#listen(this.#running);
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
    clearTimeout(this.#timer);
    this.#set("off");
  }

  #pause() {
    if (!this.#running) return;
    this.stop();
    this.state = "paused";
  }

  async #listen(run) {
    let waitMs = FIRST_WAIT_MS;
    for (;;) {
      const connection = new AbortController();
      const end = () => connection.abort();
      run.signal.addEventListener("abort", end);
      try {
        await this.#read(connection, () => { waitMs = FIRST_WAIT_MS; });
      } catch (error) {
        if (run.signal.aborted) return;
        // Without a token nothing can be heard; the shell starts again when there is one. A server
        // without this address has nothing that changes.
        if ([401, 404].includes(error.status)) {
          this.stop();
          return;
        }
      }
      run.signal.removeEventListener("abort", end);
      if (run.signal.aborted) return;
      // The first attempt after a connection has ended is quiet: most follow a restart or a limit.
      if (waitMs > FIRST_WAIT_MS || this.state !== "live") this.#set("stale");
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      if (run.signal.aborted) return;
    }
  }

  async #read(connection, arrived) {
    const response = await request("/v1/changes",
                                   { signal: connection.signal, accept: "text/event-stream" });
    const reader = response.body.getReader(), decoder = new TextDecoder();
    const parser = new EventParser();
    this.#heard(connection);
    arrived();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.#heard(connection);
      for (const event of parser.push(decoder.decode(value, { stream: true })))
        if (event.type === "changes") this.#changed(event.data);
    }
  }

  #heard(connection) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#set("stale");
      connection.abort();
    }, STALE_MS);
    this.heardAtMs = Date.now();
    this.#set("live");
  }

  #changed(text) {
    let numbers;
    try {
      numbers = JSON.parse(text);
    } catch {
      return;
    }
    reloadFor(numbers.page);
    for (const name of ["jobs", "store"]) {
      const isNew = this.#numbers[name] !== numbers[name];
      this.#numbers[name] = numbers[name];
      if (isNew) this.dispatchEvent(new Event(name));
    }
  }

  #set(state) {
    if (this.state === state) return;
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }
}

export const live = new Live();
