#include "job/graph/memory_hazards.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace hocket {
namespace {

/// The block that had each byte of the arena last.
class Occupants {
 public:
  /// Gives memory to a block, and returns those that had a part of it, in order.
  std::vector<std::size_t> take(const MemoryPlace& place, std::size_t block) {
    const std::int64_t begin = place.offset_bytes, end = begin + place.bytes;
    split(begin);
    split(end);
    std::vector<std::size_t> before;
    const auto first = ranges_.lower_bound(begin), last = ranges_.lower_bound(end);
    for (auto range = first; range != last; ++range)
      if (range->second.block != block) before.push_back(range->second.block);
    ranges_.erase(first, last);
    ranges_.emplace(begin, Range{end, block});
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    return before;
  }

 private:
  struct Range {
    std::int64_t end = 0;
    std::size_t block = 0;
  };

  /// Makes a range begin at `offset` where one goes on over it.
  void split(std::int64_t offset) {
    auto after = ranges_.upper_bound(offset);
    if (after == ranges_.begin()) return;
    const auto range = std::prev(after);
    if (range->first == offset || range->second.end <= offset) return;
    ranges_.emplace(offset, range->second);
    range->second.end = offset;
  }

  std::map<std::int64_t, Range> ranges_;  // by their begin
};

}  // namespace

std::vector<ArenaBlock> arena_blocks(const MemoryPlan& plan) {
  std::vector<ArenaBlock> blocks;
  for (std::size_t i = 0; i < plan.places.size(); ++i)
    if (plan.places[i]) blocks.push_back({*plan.places[i], false, i});
  for (std::size_t i = 0; i < plan.scratch.size(); ++i)
    if (plan.scratch[i]) blocks.push_back({*plan.scratch[i], true, i});
  std::ranges::stable_sort(blocks, {}, [](const ArenaBlock& block) { return block.place.first; });
  return blocks;
}

std::vector<std::vector<std::size_t>> blocks_before(const std::vector<ArenaBlock>& blocks) {
  Occupants occupants;
  std::vector<std::vector<std::size_t>> before(blocks.size());
  // The second step finds the memory as the first one leaves it.
  for (int step = 0; step < 2; ++step)
    for (std::size_t i = 0; i < blocks.size(); ++i) before[i] = occupants.take(blocks[i].place, i);
  return before;
}

}  // namespace hocket
