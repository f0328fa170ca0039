#pragma once

// The pending events of a simulation in virtual time: a heap ordered by time and, at equal times,
// by sequence of scheduling, so that a simulation is deterministic. Not thread-safe.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hocket {

template <class Payload>
class EventQueue {
 public:
  struct Event {
    std::int64_t time_ns = 0;
    std::uint64_t sequence = 0;
    Payload payload;
  };

  bool empty() const { return heap_.empty(); }

  void push(std::int64_t time_ns, const Payload& payload) {
    Event event{time_ns, next_sequence_++, payload};
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    for (; hole > 0; hole = (hole - 1) / kArity) {
      const Event& parent = heap_[(hole - 1) / kArity];
      if (!before(event, parent)) break;
      heap_[hole] = parent;
    }
    heap_[hole] = event;
  }

  /// Removes and returns the earliest event. The queue must not be empty.
  Event pop() {
    const Event first = heap_.front();
    const Event moved = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return first;
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = kArity * hole + 1) {
      const std::size_t end = std::min(child + kArity, size);
      for (std::size_t other = child + 1; other < end; ++other)
        if (before(heap_[other], heap_[child])) child = other;
      if (!before(heap_[child], moved)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = moved;
    return first;
  }

 private:
  /// Four children of a node fit in one or two cache lines, and halve the depth of a binary heap.
  static constexpr std::size_t kArity = 4;

  static bool before(const Event& a, const Event& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.sequence < b.sequence;
  }

  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace hocket
