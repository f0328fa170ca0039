// A timeline that is in memory as a whole: a simulated one. Answers as the daemon does for a stored
// profile; its tiles are made when they are drawn.

import { exposedOf, figuresOf } from "./intervals.js";
import { COLUMNS, NO_NAME, tileOf } from "./tile.js";
import { TileCache } from "./tile_cache.js";

const CACHE_BYTES = 8 << 20;

class Lane {
  constructor(boxes) {
    boxes.sort((a, b) => a[1] - b[1] || a[2] - b[2]);
    this.begins = Float64Array.from(boxes, (box) => box[1]);
    this.ends = Float64Array.from(boxes, (box) => box[2]);
    this.names = Uint32Array.from(boxes, (box) => box[3]);
    this.latest = this.ends.slice();
    for (let i = 1; i < this.latest.length; ++i)
      this.latest[i] = Math.max(this.latest[i], this.latest[i - 1]);
  }

  get size() {
    return this.begins.length;
  }

  firstEndingAfter(time) {
    return firstAbove(this.latest, time);
  }

  firstBeginningAfter(time) {
    return firstAbove(this.begins, time);
  }
}

function firstAbove(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

export class MemorySource {
  #cache = new TileCache(CACHE_BYTES);
  #lanes = [];

  /// `timeline`: one iteration, {end_ns, names, lanes, boxes: [[lane, begin_ns, end_ns, name], …]}.
  constructor(timeline) {
    this.error = null;
    this.onchange = () => {};
    const names = [...timeline.names, "exposed communication"];
    const boxes = timeline.lanes.map(() => []);
    for (const box of timeline.boxes) boxes[box[0]]?.push(box);
    const { lanes, lists } = withExposed(timeline.lanes, boxes, names.length - 1);
    this.#lanes = lists.map((list) => new Lane(list));
    const ranks = [...new Set(lanes.map((lane) => lane.rank))];
    this.layout = {
      end_ns: timeline.end_ns, names, notes: [],
      iterations: [{ title: "iteration", step: 0, begin_ns: 0, end_ns: timeline.end_ns }],
      records: timeline.boxes.length, ranks: ranks.map((rank) => ({ rank, host: "", source: "" })),
      lanes: lanes.map((lane, i) => ({ ...lane, records: this.#lanes[i].size })),
    };
  }

  async open() {
    return this;
  }

  close() {}

  want() {}

  retry() {}

  get stats() {
    return { tiles: this.#cache.size, bytes: this.#cache.bytes, requests: 0 };
  }

  best(level, index) {
    const found = this.#cache.best(level, index);
    if (found?.isEnough) return found;
    const tile = this.#make(level, index);
    this.#cache.put(level, index, tile);
    return { tile, level, index, isEnough: true };
  }

  #make(level, index) {
    const length = this.layout.end_ns / 2 ** level, begin = index * length;
    const lists = this.#lanes.map((lane, i) => [i, boxesOf(lane, begin, length / COLUMNS)]);
    return tileOf(lists.filter(([, list]) => list.length > 0), this.#lanes.length);
  }

  async record(lane, record) {
    const { kind, rank, lane: number } = this.layout.lanes[lane], boxes = this.#lanes[lane];
    return { name: this.layout.names[boxes.names[record]], kind, rank, lane: number,
             begin_ns: boxes.begins[record], end_ns: boxes.ends[record], partners: [] };
  }

  async range(begin, end) {
    return figuresOf(this.layout, this.#lanes, Math.floor(begin), Math.ceil(end));
  }

  /// Matches are in the order of begin, then lane, then record.
  async find({ text = "", kind = "", from = 0, place = null, backward = false, leastNs = 0 }) {
    const lower = text.toLowerCase();
    const isWanted = this.layout.names.map((name) => name.toLowerCase().includes(lower));
    const start = place ? [this.#lanes[place.lane].begins[place.record], place.lane, place.record]
                        : [from, -1, -1];
    let found = null, foundAt = null, matches = 0;
    this.#lanes.forEach((boxes, lane) => {
      const row = this.layout.lanes[lane];
      if (kind ? row.kind !== kind : row.kind === "exposed") return;
      for (let record = 0; record < boxes.size; ++record) {
        if (!isWanted[boxes.names[record]]) continue;
        ++matches;
        if (boxes.ends[record] - boxes.begins[record] < leastNs) continue;
        const begin = boxes.begins[record], at = [begin, lane, record];
        const isBeyond = backward ? isBefore(at, start) : isBefore(start, at);
        const isNearer = !found || (backward ? isBefore(foundAt, at) : isBefore(at, foundAt));
        if (!isBeyond || !isNearer) continue;
        foundAt = at;
        found = { lane, record, begin_ns: begin, end_ns: boxes.ends[record],
                  name: this.layout.names[boxes.names[record]] };
      }
    });
    return { found, matches };
  }
}

function isBefore(a, b) {
  const i = a.findIndex((value, k) => value !== b[k]);
  return i >= 0 && a[i] < b[i];
}

/// Returns the boxes of a tile's lane. Records that are narrower than a column are merged with
/// those that begin within a column of the first.
function boxesOf(lane, begin, columnNs) {
  const end = begin + COLUMNS * columnNs, list = [];
  let i = lane.firstEndingAfter(begin);
  while (i < lane.size && lane.begins[i] < end) {
    const first = i, limit = lane.begins[first] + columnNs;
    let last = lane.ends[i], busy = last - lane.begins[i], name = lane.names[i++];
    while (i < lane.size && lane.begins[i] < limit && lane.latest[i] < limit + columnNs) {
      busy += Math.max(0, lane.ends[i] - Math.max(lane.begins[i], last));
      if (lane.names[i] !== name) name = NO_NAME;
      last = Math.max(last, lane.ends[i++]);
    }
    const records = i - first, length = last - lane.begins[first];
    if (last <= begin) continue;
    list.push([(Math.max(lane.begins[first], begin) - begin) / columnNs,
               (Math.min(last, end) - begin) / columnNs,
               records === 1 || length <= 0 ? 1 : Math.min(1, busy / length),
               name, first, records, 0]);
  }
  return list;
}

/// Adds to each rank a lane with its exposed communication, before its other lanes.
function withExposed(lanes, boxes, name) {
  const all = [], lists = [];
  for (const rank of new Set(lanes.map((lane) => lane.rank))) {
    const own = lanes.map((lane, i) => i).filter((i) => lanes[i].rank === rank);
    if (!own.some((i) => lanes[i].kind === "exposed")) {
      all.push({ rank, kind: "exposed", lane: 0, title: "exposed" });
      lists.push(exposedOf(own.map((i) => ({ kind: lanes[i].kind, boxes: boxes[i] })))
        .map(([begin, end]) => [0, begin, end, name]));
    }
    for (const i of own) {
      all.push(lanes[i]);
      lists.push(boxes[i]);
    }
  }
  return { lanes: all, lists };
}
