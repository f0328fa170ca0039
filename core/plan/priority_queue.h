#pragma once

// A priority queue for small integer priorities: one list for each priority, and a three-level
// bitmap of 64-bit words that finds the first non-empty list with three instructions. FIFO within a
// priority. Not thread-safe.
//
// Invariants:
//  1. bit p of level 0 is set if and only if list p is not empty;
//  2. bit w of level n + 1 is set if and only if word w of level n is not zero.

#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/step/task.h"

namespace hocket {

/// Holds slot indices, each at most once. The lists are intrusive: `next` is a callable that
/// returns the link (a std::uint32_t&) of a slot; the queue owns that link while the slot is
/// queued.
class BucketQueue {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  template <class Next>
  void push(std::uint32_t priority, std::uint32_t slot, Next&& next) {
    HOCKET_CHECK(priority < kPriorityLevels, "priority out of range");
    if (priority >= lists_.size()) grow_lists(priority);
    next(slot) = kNone;
    List& list = lists_[priority];
    if (list.first == kNone) {
      list.first = slot;
      mark(priority);
    } else {
      next(list.last) = slot;
    }
    list.last = slot;
    ++size_;
  }

  /// Returns the most urgent slot. Requires a non-empty queue.
  std::uint32_t front() const { return lists_[first_priority()].first; }

  template <class Next>
  std::uint32_t pop(Next&& next) {
    const std::uint32_t priority = first_priority();
    List& list = lists_[priority];
    const std::uint32_t slot = list.first;
    list.first = next(slot);
    list.first == kNone ? unmark(priority) : __builtin_prefetch(&next(list.first));
    --size_;
    return slot;
  }

 private:
  struct List {
    std::uint32_t first = kNone, last = kNone;
  };

  std::uint32_t first_priority() const {
    HOCKET_CHECK(size_ > 0, "an empty queue has no front");
    const std::uint32_t top = std::countr_zero(top_);
    const std::uint32_t middle = top * 64 + std::countr_zero(middle_[top]);
    return middle * 64 + std::countr_zero(words_[middle]);
  }

  void mark(std::uint32_t priority) {
    words_[priority / 64] |= std::uint64_t{1} << priority % 64;
    middle_[priority / 4096] |= std::uint64_t{1} << priority / 64 % 64;
    top_ |= std::uint64_t{1} << priority / 4096;
  }

  void unmark(std::uint32_t priority) {
    if (words_[priority / 64] &= ~(std::uint64_t{1} << priority % 64)) return;
    if (middle_[priority / 4096] &= ~(std::uint64_t{1} << priority / 64 % 64)) return;
    top_ &= ~(std::uint64_t{1} << priority / 4096);
  }

  /// Grows to cover `priority`, in whole bitmap words: memory is proportional to the highest
  /// priority in use.
  void grow_lists(std::uint32_t priority) {
    words_.resize(priority / 64 + 1);
    lists_.resize(words_.size() * 64);
  }

  std::vector<List> lists_;
  std::vector<std::uint64_t> words_;
  std::uint64_t middle_[64] = {};
  std::uint64_t top_ = 0;
  std::size_t size_ = 0;
};

}  // namespace hocket
