// Keeps tiles up to a number of bytes; those that were not drawn for longest go first. The tile of
// level 0 stays, so that there is always something to draw.

import { MOST_LEVEL } from "./tile.js";

/// Levels below an exact tile that it is drawn at: its f32 columns are good to 1/256 of a pixel
/// there. Finer tiles would show the same.
const EXACT_LEVELS = 7;

export function tileKey(level, index) {
  return level * 2 ** (MOST_LEVEL + 1) + index;
}

export class TileCache {
  #tiles = new Map();
  #root = null;

  constructor(limitBytes) {
    this.limitBytes = limitBytes;
    this.bytes = 0;
  }

  get size() {
    return this.#tiles.size + (this.#root ? 1 : 0);
  }

  get(level, index) {
    if (level === 0) return this.#root;
    const key = tileKey(level, index), tile = this.#tiles.get(key);
    if (!tile) return null;
    // A map keeps the order of insertion, so the tile becomes the newest.
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    return tile;
  }

  put(level, index, tile) {
    if (level === 0) {
      this.#root = tile;
      return;
    }
    this.#tiles.set(tileKey(level, index), tile);
    this.bytes += tile.bytes;
    for (const [key, old] of this.#tiles) {
      if (this.bytes <= this.limitBytes || old === tile) break;
      this.#tiles.delete(key);
      this.bytes -= old.bytes;
    }
  }

  /// Returns {tile, level, index, isEnough} of the finest tile there that has this one's time; null
  /// if there is none. isEnough: the wanted tile would show no more.
  best(level, index) {
    for (let up = 0; up <= level; ++up) {
      const at = Math.floor(index / 2 ** up), tile = this.get(level - up, at);
      if (tile) {
        const isEnough = up === 0 || (tile.isExact && up <= EXACT_LEVELS);
        return { tile, level: level - up, index: at, isEnough };
      }
    }
    return null;
  }
}
