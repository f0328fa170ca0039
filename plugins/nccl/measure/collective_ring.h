#pragma once

// A bounded queue of measured collectives. Any number of threads push, none of them ever waits; one
// thread pops.
//
// Invariants
// 1. Cell i holds the values of positions i, i + kCapacity, … in turn. Its `turn` is the position
//    that may be written next, or that position + 1 once it has been written.
// 2. Only the thread that moved `tail_` past a position writes its cell, and publishes it with
//    `turn`. Only the consumer frees it.

#include <array>
#include <atomic>
#include <cstdint>

#include "plugins/nccl/measure/measured_collective.h"

namespace hocket::nccl::measure {

class CollectiveRing {
 public:
  static constexpr std::uint64_t kCapacity = 1024;

  CollectiveRing() {
    for (std::uint64_t i = 0; i < kCapacity; ++i) cells_[i].turn.store(i);
  }

  /// Returns false and counts the loss if the ring is full. `epoch` is the one in which the
  /// measurement began.
  bool push(const MeasuredCollective& collective, std::uint32_t epoch) {
    std::uint64_t position = tail_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cells_[position % kCapacity];
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == position) {
        if (!tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed))
          continue;
        cell.collective = collective;
        cell.epoch = epoch;
        cell.turn.store(position + 1, std::memory_order_release);
        return true;
      }
      if (turn < position) {  // not popped yet since its last turn
        overflow_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
      position = tail_.load(std::memory_order_relaxed);
    }
  }

  /// Takes the oldest collective of `epoch` and drops those of other epochs; false if there is
  /// none. One thread at a time.
  bool pop(MeasuredCollective& collective, std::uint32_t epoch) {
    while (true) {
      Cell& cell = cells_[head_ % kCapacity];
      if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
      collective = cell.collective;
      const bool is_current = cell.epoch == epoch;
      cell.turn.store(head_ + kCapacity, std::memory_order_release);
      ++head_;
      if (is_current) return true;
    }
  }

  std::uint64_t overflow() const { return overflow_.load(std::memory_order_relaxed); }

 private:
  struct Cell {
    std::atomic<std::uint64_t> turn{0};
    std::uint32_t epoch = 0;
    MeasuredCollective collective;
  };

  std::array<Cell, kCapacity> cells_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint64_t> overflow_{0};
  alignas(64) std::uint64_t head_ = 0;  // the consumer's
};

}  // namespace hocket::nccl::measure
