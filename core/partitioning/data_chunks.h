#pragma once

// Data in pieces, so that a task waits for what it needs of them and no more. Built once, then
// constant.
//
// Each data has offsets at which it is cut, all counted from its beginning or all from that of
// every rank's block (core/step/rank_grid.h); its chunks lie between them, the last one reaching to
// its end. Fewer cuts are always right: they only let tasks wait for more than they need. So data
// on which both ways of counting are used stay whole.

#include <cstdint>
#include <string>
#include <vector>

#include "core/partitioning/workload_cuts.h"
#include "core/step/task.h"

namespace hocket::partitioning {

class ChunkTable {
 public:
  explicit ChunkTable(std::size_t data) : data_(data) {}

  /// Collectives come first: they say how the data that they change is counted, and its size,
  /// beyond which it is not cut.
  void add_collective(DataId data, bool of_block, std::int64_t bytes);
  /// Nothing when it counts otherwise than what came before.
  void add_cut(DataId data, bool of_block, std::int64_t at_bytes);

  /// Numbers the chunks: names of those of divided data are appended to `names`, which begins with
  /// the data's.
  void finish(std::vector<std::string>& names);

  bool counts(DataId data, bool of_block) const {
    return data_[data.index].counting == of(of_block);
  }
  bool is_divided(DataId data) const { return !data_[data.index].cuts.empty(); }
  /// Appends the chunks of `data` that `range` overlaps, or the data itself when it is whole.
  void append(DataId data, Range range, std::vector<DataId>& chunks) const;

 private:
  enum class Counting : std::uint8_t { unknown, buffer, block, both };
  struct Data {
    Counting counting = Counting::unknown;
    bool collective = false;
    std::int64_t bytes = 0;
    std::vector<std::int64_t> cuts;
    std::uint32_t first_chunk = 0;
  };
  static Counting of(bool of_block) { return of_block ? Counting::block : Counting::buffer; }

  std::vector<Data> data_;
};

}  // namespace hocket::partitioning
