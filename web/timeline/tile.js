// A tile: the boxes of all lanes in one of 2^level equal parts of the axis, in 512 columns. The
// boxes stay in the buffer that was received; nothing is made for each of them.
//
// Words of 4 bytes, little endian: magic, number of lanes n, n times (lane, number of boxes), then
// all boxes in that order: f32 begin column, f32 end column, f32 busy share, u32 name, u32 first
// record, u32 number of records, u32 number of the collective + 1.

export const COLUMNS = 512;
export const BOX_WORDS = 7;
export const NO_NAME = 0xffffffff;
export const MOST_LEVEL = 40;
const MAGIC = 0x31544b48;

export class Tile {
  /// Throws if `buffer` is not a tile of at most `laneCount` lanes.
  constructor(buffer, laneCount) {
    if (buffer.byteLength < 8 || buffer.byteLength % 4 !== 0)
      throw new Error("a tile is cut short");
    this.words = new Uint32Array(buffer);
    this.floats = new Float32Array(buffer);
    this.bytes = buffer.byteLength;
    /// First word of a lane's boxes; -1 if it has none.
    this.starts = new Int32Array(laneCount).fill(-1);
    this.counts = new Int32Array(laneCount);
    const { words } = this;
    const lanes = words[1];
    let next = 2 + 2 * lanes;
    if (words[0] !== MAGIC || next > words.length) throw new Error("this is not a tile");
    for (let i = 0; i < lanes; ++i) {
      const lane = words[2 + 2 * i], boxes = words[3 + 2 * i];
      if (lane >= laneCount) throw new Error("a tile has a lane that the profile lacks");
      this.starts[lane] = next;
      this.counts[lane] = boxes;
      next += BOX_WORDS * boxes;
    }
    if (next !== words.length) throw new Error("a tile has not the size that it says");
    this.isExact = this.#hasOnlySingleRecords(2 + 2 * lanes);
  }

  #hasOnlySingleRecords(first) {
    for (let at = first + 5; at < this.words.length; at += BOX_WORDS)
      if (this.words[at] !== 1) return false;
    return true;
  }

  /// Returns the first box of a lane that ends after `column`; the number of boxes if none does.
  firstAfter(lane, column) {
    const { floats } = this, start = this.starts[lane] + 1;
    let low = 0, high = this.counts[lane];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (floats[start + BOX_WORDS * middle] > column) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}

/// Returns the words of a tile whose boxes are given by lane: [[lane, [[begin, end, busy, name,
/// first, records, join], …]], …].
export function tileOf(lanes, laneCount) {
  const boxes = lanes.reduce((sum, [, list]) => sum + list.length, 0);
  const buffer = new ArrayBuffer(4 * (2 + 2 * lanes.length + BOX_WORDS * boxes));
  const words = new Uint32Array(buffer), floats = new Float32Array(buffer);
  words[0] = MAGIC;
  words[1] = lanes.length;
  let at = 2 + 2 * lanes.length;
  lanes.forEach(([lane, list], i) => {
    words[2 + 2 * i] = lane;
    words[3 + 2 * i] = list.length;
    for (const box of list) {
      for (let k = 0; k < 3; ++k) floats[at + k] = box[k];
      for (let k = 3; k < BOX_WORDS; ++k) words[at + k] = box[k];
      at += BOX_WORDS;
    }
  });
  return new Tile(buffer, laneCount);
}
