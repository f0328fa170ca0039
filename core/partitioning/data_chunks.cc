#include "core/partitioning/data_chunks.h"

#include <algorithm>

namespace hocket::partitioning {

void ChunkTable::add_collective(DataId data, bool of_block, std::int64_t bytes) {
  Data& d = data_[data.index];
  // Equal offsets in blocks of different sizes are different bytes.
  const bool agrees =
      !d.collective || (d.counting == of(of_block) && (!of_block || d.bytes == bytes));
  d.counting = agrees ? of(of_block) : Counting::both;
  d.collective = true;
  d.bytes = std::max(d.bytes, bytes);
}

void ChunkTable::add_cut(DataId data, bool of_block, std::int64_t at_bytes) {
  Data& d = data_[data.index];
  if (d.counting == Counting::unknown) d.counting = of(of_block);
  if (d.counting != of(of_block)) {
    // Collectives decide how data are counted; a disagreement between computations leaves them
    // whole.
    if (!d.collective) d.counting = Counting::both;
    return;
  }
  if (at_bytes > 0 && (!d.collective || at_bytes < d.bytes)) d.cuts.push_back(at_bytes);
}

void ChunkTable::finish(std::vector<std::string>& names) {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    Data& d = data_[i];
    std::sort(d.cuts.begin(), d.cuts.end());
    d.cuts.erase(std::unique(d.cuts.begin(), d.cuts.end()), d.cuts.end());
    // The last cut of data without a collective is its end, which is no cut.
    if (!d.collective && !d.cuts.empty()) d.cuts.pop_back();
    if (d.counting == Counting::both) d.cuts.clear();
    if (d.cuts.empty()) continue;
    d.first_chunk = static_cast<std::uint32_t>(names.size());
    for (std::size_t k = 0; k <= d.cuts.size(); ++k)
      names.push_back(names[i] + "[" + std::to_string(k) + "]");
  }
}

void ChunkTable::append(DataId data, Range range, std::vector<DataId>& chunks) const {
  const Data& d = data_[data.index];
  if (d.cuts.empty()) {
    chunks.push_back(data);
    return;
  }
  if (range.begin >= range.end) return;
  const auto chunk_at = [&](std::int64_t byte) {
    return static_cast<std::uint32_t>(std::upper_bound(d.cuts.begin(), d.cuts.end(), byte) -
                                      d.cuts.begin());
  };
  const std::uint32_t last = chunk_at(range.end - 1);
  for (std::uint32_t k = chunk_at(range.begin); k <= last; ++k)
    chunks.push_back({d.first_chunk + k});
}

}  // namespace hocket::partitioning
