// A stored profile's timeline, fetched in tiles: only those that are visible, a few at once.

import { get, getBytes } from "../api.js";
import { Tile } from "./tile.js";
import { TileCache, tileKey } from "./tile_cache.js";

const CACHE_BYTES = 48 << 20;
const MOST_REQUESTS = 4;
/// A tile this many levels coarser than what is shown is still worth waiting for.
const USEFUL_COARSER = 2;

function addressOf(profile) {
  return `/v1/profiles/${encodeURIComponent(profile)}/timeline`;
}

export class TileSource {
  #cache = new TileCache(CACHE_BYTES);
  #running = new Map();
  #queue = [];
  #failedUntil = 0;

  constructor(profile) {
    this.profile = profile;
    this.layout = null;
    this.error = null;
    /// Called when a tile has come, or could not be fetched.
    this.onchange = () => {};
  }

  async open({ signal } = {}) {
    this.layout = await get(addressOf(this.profile), { signal });
    const buffer = await getBytes(`${addressOf(this.profile)}/tile?level=0&index=0`, { signal });
    this.#cache.put(0, 0, new Tile(buffer, this.layout.lanes.length));
    return this;
  }

  close() {
    this.#queue = [];
    for (const [, request] of this.#running) request.abort.abort();
    this.onchange = () => {};
  }

  best(level, index) {
    return this.#cache.best(level, index);
  }

  get stats() {
    return { tiles: this.#cache.size, bytes: this.#cache.bytes, requests: this.#running.size };
  }

  /// Fetches the tiles [first, last] of a level that are not there, the middle first, then the next
  /// ones on both sides. Gives up what was wanted before and is of no use now.
  want(level, first, last) {
    for (const [key, request] of this.#running) {
      if (!isUseful(request, level, first, last)) {
        request.abort.abort();
        this.#running.delete(key);
      }
    }
    const middle = (first + last) / 2, wanted = [];
    for (let index = first; index <= last; ++index) wanted.push(index);
    wanted.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    if (first > 0) wanted.push(first - 1);
    if (last + 1 < 2 ** level) wanted.push(last + 1);
    this.#queue = wanted.map((index) => ({ level, index }));
    this.#fill();
  }

  retry() {
    this.#failedUntil = 0;
    this.error = null;
    this.onchange();
  }

  #fill() {
    if (performance.now() < this.#failedUntil) return;
    while (this.#queue.length > 0 && this.#running.size < MOST_REQUESTS) {
      const { level, index } = this.#queue.shift();
      if (this.#running.has(tileKey(level, index))) continue;
      if (this.#cache.best(level, index)?.isEnough) continue;
      this.#fetch(level, index);
    }
  }

  async #fetch(level, index) {
    const key = tileKey(level, index), request = { level, index, abort: new AbortController() };
    this.#running.set(key, request);
    try {
      const buffer = await getBytes(
        `${addressOf(this.profile)}/tile?level=${level}&index=${index}`,
        { signal: request.abort.signal });
      this.#cache.put(level, index, new Tile(buffer, this.layout.lanes.length));
      this.error = null;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.error = error;
      // Whatever is wrong, asking again in each frame does not mend it.
      this.#failedUntil = performance.now() + 3000;
    }
    if (this.#running.get(key) === request) this.#running.delete(key);
    this.onchange();
    this.#fill();
  }

  record(lane, record, { signal } = {}) {
    return get(`${addressOf(this.profile)}/record?lane=${lane}&record=${record}`, { signal });
  }

  range(begin, end, { signal } = {}) {
    const query = `begin_ns=${Math.floor(begin)}&end_ns=${Math.ceil(end)}`;
    return get(`${addressOf(this.profile)}/range?${query}`, { signal });
  }

  /// Finds the next match from a time, or after (backward: before) the record `place`, {lane,
  /// record}. Matches shorter than `leastNs` are passed over.
  find({ text = "", kind = "", from = 0, place = null, backward = false, leastNs = 0 },
       { signal } = {}) {
    const query = new URLSearchParams({ text, kind, backward: backward ? "1" : "0" });
    if (leastNs > 0) query.set("least_ns", String(Math.round(leastNs)));
    if (place) {
      query.set("from_lane", String(place.lane));
      query.set("from_record", String(place.record));
    } else {
      query.set("from_ns", String(Math.max(0, Math.round(from))));
    }
    // A space is "+" in what a form sends; the daemon takes a "+" as it is.
    const encodedQuery = String(query).replaceAll("+", "%20");
    return get(`${addressOf(this.profile)}/find?${encodedQuery}`, { signal });
  }
}

function isUseful(request, level, first, last) {
  const levels = level - request.level;
  if (levels < -1 || levels > USEFUL_COARSER) return false;
  const scale = 2 ** levels;
  return (request.index + 1) * scale > first - 1 && request.index * scale <= last + 1;
}
