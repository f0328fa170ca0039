#pragma once

// A queue in a ring of memory, which grows to the largest size and is then used again. Not
// thread-safe.

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace hocket {

template <class T>
class RingQueue {
 public:
  std::size_t size() const { return size_; }

  /// Returns the `index`-th entry, counted from the oldest.
  T& operator[](std::size_t index) { return slots_[(first_ + index) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t index) const {
    return slots_[(first_ + index) & (slots_.size() - 1)];
  }

  /// Adds an entry, which has any value. References to other entries become invalid.
  T& add() {
    if (size_ == slots_.size()) grow();
    return (*this)[size_++];
  }
  /// Removes the oldest `count` entries.
  void drop_first(std::size_t count) {
    HOCKET_CHECK(count <= size_, "a ring has no such entries");
    first_ += count;
    size_ -= count;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> slots_;  // a power of two of them, or none
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace hocket
