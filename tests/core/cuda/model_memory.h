#pragma once

// Memory of a simulated device and all accesses to it: finds races and uses of freed memory. Two
// accesses to the same bytes, at least one of them a write, must be ordered, whichever of them is
// reported first. One thread at a time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/collective/value_span.h"

namespace hocket {

/// Memory that a kernel accesses.
struct Region {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
};

inline Region reads(ValueSpan values) {
  return {values.data(), values.size_bytes(), false};
}
inline Region writes(ValueSpan values) {
  return {values.data(), values.size_bytes(), true};
}

/// By stream: number of its accesses that come before.
using ModelClock = std::vector<std::uint64_t>;

/// Place of a kernel in the order of the device.
struct ModelPoint {
  std::size_t stream = 0;
  std::uint64_t number = 0;  ///< among the accesses of its stream
  std::uint64_t turn = 0;    ///< among all, in the order in which they entered their streams
  std::shared_ptr<const ModelClock> clock;

  bool comes_before(const ModelPoint& other) const {
    return stream < other.clock->size() && (*other.clock)[stream] >= number;
  }
};

class ModelMemory {
 public:
  /// Memory of the device, or of the host where the device can access it. Its addresses are never
  /// those of another block, so that a use after free is found.
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
    bool freed = false;
    const void* capture = nullptr;  ///< capture in which it was allocated
  };

  Block& add(std::size_t bytes) {
    KnownBlock& block = blocks_.emplace_back();
    block.memory = std::make_unique<std::byte[]>(bytes);
    block.bytes = bytes;
    at_[block.memory.get()] = &block;
    return block;
  }
  /// Returns the block that begins at `memory` and is not freed; null if there is none.
  Block* find(const void* memory) {
    const auto found = at_.find(static_cast<const std::byte*>(memory));
    return found == at_.end() || found->second->freed ? nullptr : found->second;
  }
  bool holds(const Region& region) { return block_of(region) != nullptr; }

  void allocate(Block& block, const ModelPoint& point) {
    auto& own = static_cast<KnownBlock&>(block);
    if (std::exchange(own.freed, false)) own.changes.push_back(point.turn);
    access(point, {{own.memory.get(), own.bytes, true}});
  }
  void free(Block& block, const ModelPoint& point) {
    auto& own = static_cast<KnownBlock&>(block);
    access(point, {{own.memory.get(), own.bytes, true}});
    own.freed = true;
    own.changes.push_back(point.turn + 1);
  }

  /// Checks that a kernel's accesses are ordered with all conflicting ones known so far.
  void access(const ModelPoint& point, const std::vector<Region>& regions) {
    for (const Region& region : regions) {
      KnownBlock* const block = block_of(region);
      if (block && block->is_freed_at(point.turn)) problems_.push_back("freed memory is used");
      std::vector<Access>& past = block ? block->past : elsewhere_;
      for (const Access& other : past) {
        if (!(other.region.writes || region.writes) || !overlap(other.region, region)) continue;
        if (other.point.turn == point.turn || other.point.comes_before(point) ||
            point.comes_before(other.point))
          continue;
        problems_.push_back("stream " + std::to_string(point.stream) + " races with access " +
                            std::to_string(other.point.number) + " of stream " +
                            std::to_string(other.point.stream));
      }
      past.push_back({region, point});
    }
  }
  void add_problem(std::string problem) { problems_.push_back(std::move(problem)); }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Access {
    Region region;
    ModelPoint point;
  };
  struct KnownBlock : Block {
    /// Turns from which on it is freed, allocated again, freed …
    std::vector<std::uint64_t> changes;
    std::vector<Access> past;

    bool is_freed_at(std::uint64_t turn) const {
      const auto next = std::upper_bound(changes.begin(), changes.end(), turn);
      return (next - changes.begin()) % 2 != 0;
    }
  };

  static bool overlap(const Region& a, const Region& b) {
    const auto* a_begin = static_cast<const std::byte*>(a.begin);
    const auto* b_begin = static_cast<const std::byte*>(b.begin);
    return a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes;
  }
  /// Returns the block that holds the region; null if none does.
  KnownBlock* block_of(const Region& region) {
    const auto* begin = static_cast<const std::byte*>(region.begin);
    const auto next = at_.upper_bound(begin);
    if (next == at_.begin()) return nullptr;
    KnownBlock& block = *std::prev(next)->second;
    return begin + region.bytes <= block.memory.get() + block.bytes ? &block : nullptr;
  }

  std::deque<KnownBlock> blocks_;  // addresses of blocks stay valid
  std::map<const std::byte*, KnownBlock*> at_;
  std::vector<Access> elsewhere_;  // to memory that is in no block
  std::vector<std::string> problems_;
};

}  // namespace hocket
