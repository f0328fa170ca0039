// Which box is at a point.

import { BOX_WORDS, COLUMNS } from "./tile.js";

/// Distance in pixels at which a thin box is still meant.
const NEAR = 3;

/// Returns the box of `row` that is at pixel x or nearest to it: {lane, row, record, records, name,
/// join, begin_ns, end_ns, isCut}; null if there is none. isCut: it goes on beyond what is known
/// here, so its times are not those of the whole box.
export function boxAt(segments, row, x, frame) {
  const segment = segments.at(x);
  if (!segment || !row || segment.tile.starts[row.lane] < 0) return null;
  const { tile, a, b } = segment, start = tile.starts[row.lane], near = NEAR * frame.ratio;
  let best = -1, bestDistance = near;
  for (let i = tile.firstAfter(row.lane, (x - near - a) / b); i < tile.counts[row.lane]; ++i) {
    const at = start + BOX_WORDS * i;
    const left = a + tile.floats[at] * b, right = a + tile.floats[at + 1] * b;
    if (left > x + near) break;
    const distance = Math.max(left - x, x - right, 0);
    if (distance < bestDistance || (distance === 0 && bestDistance === 0)) {
      best = at;
      bestDistance = distance;
    }
  }
  return best < 0 ? null : describe(segments, segment, best, row, frame);
}

function describe(segments, segment, at, row, frame) {
  const { words, floats } = segment.tile;
  const box = { lane: row.lane, row, record: words[at + 4], records: words[at + 5],
                name: words[at + 3], join: words[at + 6] };
  const time = (one, column) => (one.a + column * one.b + frame.offset) * frame.nsPerPixel;
  const place = segments.list.indexOf(segment);
  let left = segment, leftAt = at, right = segment, rightAt = at;
  for (let i = place - 1; i >= 0 && left.tile.floats[leftAt] <= 0; --i) {
    const next = edgeBox(segments.list[i], row.lane, box.record, true);
    if (next < 0) break;
    left = segments.list[i];
    leftAt = next;
  }
  for (let i = place + 1; i < segments.list.length; ++i) {
    if (right.tile.floats[rightAt + 1] < COLUMNS) break;
    const next = edgeBox(segments.list[i], row.lane, box.record, false);
    if (next < 0) break;
    right = segments.list[i];
    rightAt = next;
  }
  box.begin_ns = time(left, left.tile.floats[leftAt]);
  box.end_ns = time(right, right.tile.floats[rightAt + 1]);
  box.isCut = left.tile.floats[leftAt] <= 0 || right.tile.floats[rightAt + 1] >= COLUMNS;
  return box;
}

/// Returns the word of a lane's last or first box if it is the part of `record` in this tile.
function edgeBox({ tile }, lane, record, isLast) {
  const count = tile.counts[lane];
  if (count === 0) return -1;
  const at = tile.starts[lane] + (isLast ? BOX_WORDS * (count - 1) : 0);
  return tile.words[at + 4] === record ? at : -1;
}
