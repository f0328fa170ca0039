#pragma once

// Calls and bytes by class of collectives: what is known outside of windows. NCCL's thread counts,
// any thread reads.

#include <array>
#include <atomic>
#include <cstdint>

#include "plugins/nccl/tuning/collective_class.h"

namespace hocket::nccl::measure {

struct CallCount {
  std::uint64_t calls = 0, bytes = 0;
};
using CallCounts = std::array<CallCount, kClasses>;

class CollectiveCounters {
 public:
  /// Ignores unknown functions. NCCL makes the calls of a communicator one after another, so plain
  /// additions suffice.
  void count(int function, std::uint64_t bytes) {
    if (function < 0 || function >= kFunctions) return;
    Cell& cell = cells_[static_cast<std::size_t>(class_of(function, bytes).index())];
    add(cell.calls, 1);
    add(cell.bytes, bytes);
  }

  /// By CollectiveClass::index(). A call that is being counted may be missing from either number.
  CallCounts read() const {
    CallCounts counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = {cells_[i].calls.load(std::memory_order_relaxed),
                   cells_[i].bytes.load(std::memory_order_relaxed)};
    }
    return counts;
  }

  void reset() {
    for (Cell& cell : cells_) {
      cell.calls.store(0, std::memory_order_relaxed);
      cell.bytes.store(0, std::memory_order_relaxed);
    }
  }

 private:
  struct Cell {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
  };

  static void add(std::atomic<std::uint64_t>& to, std::uint64_t value) {
    to.store(to.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }

  std::array<Cell, kClasses> cells_;
};

}  // namespace hocket::nccl::measure
