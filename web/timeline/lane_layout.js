// Where each lane is drawn: ranks as groups one above the other, each with a line for its name and
// its lanes below. A closed group keeps thin lanes, so that nothing vanishes. In CSS pixels.

export const HEAD_HEIGHT = 22;
const GAP = 6;
const THIN = 5;
const HEIGHTS = { iteration: 17, exposed: 14, compute: 21, communication: 21, copy: 17, range: 17,
                  call: 17 };
/// Ranks that are open at first; more would hide what they have in common.
const OPEN_RANKS = 8;

export function titleOf(lane) {
  return lane.title || `${lane.kind} ${lane.lane}`;
}

export class Lanes {
  constructor(layout) {
    this.layout = layout;
    this.groups = layout.ranks.map((rank, i) => ({
      ...rank, isOpen: layout.ranks.length <= OPEN_RANKS || i < OPEN_RANKS / 2, y: 0, lanes: [] }));
    const byRank = new Map(this.groups.map((group) => [group.rank, group]));
    layout.lanes.forEach((lane, index) => {
      const height = HEIGHTS[lane.kind] ?? HEIGHTS.call;
      byRank.get(lane.rank)?.lanes.push({ ...lane, index, fullHeight: height });
    });
    this.arrange();
  }

  arrange() {
    let y = 0;
    this.rows = [];
    this.rowOfLane = new Map();
    for (const group of this.groups) {
      group.y = y;
      y += HEAD_HEIGHT;
      for (const lane of group.lanes) {
        const height = group.isOpen ? lane.fullHeight : THIN;
        const row = { number: this.rows.length, lane: lane.index, kind: lane.kind, rank: group.rank,
                      title: titleOf(lane), y, height, isOpen: group.isOpen, group };
        this.rows.push(row);
        this.rowOfLane.set(lane.index, row);
        y += height + (group.isOpen ? 2 : 1);
      }
      y += GAP;
      group.height = y - group.y;
    }
    this.height = y;
  }

  /// Returns the first row that ends below `y`.
  firstRowAt(y) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].y + this.rows[middle].height > y) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /// Returns the row at `y`, null between rows.
  rowAt(y) {
    const row = this.rows[this.firstRowAt(y)];
    return row && row.y <= y ? row : null;
  }

  setOpen(group, isOpen) {
    group.isOpen = isOpen;
    this.arrange();
  }
}
