#pragma once

// Divides data into chunks, so that a task waits only for the chunks that it needs. Built once,
// then constant. Not thread-safe while it is built.
//
// Each data item has offsets at which it is cut, all counted either from its beginning or from the
// beginning of every rank's block (core/step/rank_grid.h). Its chunks lie between the cuts; the
// last one extends to the end. Fewer cuts are always correct: they only make tasks wait for more
// than they need. Data that are counted in both ways therefore stay whole.

#include <cstdint>
#include <string>
#include <vector>

#include "core/partitioning/workload_cuts.h"
#include "core/step/task.h"

namespace hocket::partitioning {

class ChunkTable {
 public:
  explicit ChunkTable(std::size_t data) : data_(data) {}

  /// Adds a collective. Call this before add_cut(): collectives decide how the data that they
  /// change are counted, and their size, beyond which the data are not cut.
  void add_collective(DataId data, bool of_block, std::int64_t bytes);
  /// Adds a cut; ignored if it is counted in another way than earlier calls.
  void add_cut(DataId data, bool of_block, std::int64_t at_bytes);

  /// Numbers the chunks and appends the names of those of divided data to `names`, which initially
  /// holds the names of the data.
  void finish(std::vector<std::string>& names);

  bool counts(DataId data, bool of_block) const {
    return data_[data.index].counting == of(of_block);
  }
  bool is_divided(DataId data) const { return !data_[data.index].cuts.empty(); }
  /// Appends the chunks of `data` that overlap `range`, or the data item itself if it is whole.
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
