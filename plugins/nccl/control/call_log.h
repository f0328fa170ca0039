#pragma once

// The latest calls of a communicator, from NCCL's thread to the one that looks for iterations in
// them. A bounded queue that loses calls rather than wait. One thread adds, one takes.

#include <array>
#include <atomic>
#include <cstdint>

namespace hocket::nccl {

struct LoggedCall {
  std::uint64_t call = 0;   ///< number of the call; those in between were lost
  std::uint64_t token = 0;  ///< tells kinds of calls apart
  std::int64_t ns = 0;      ///< time at which NCCL asked
  int class_index = -1;     ///< CollectiveClass::index(); -1: of an unknown function
};

class CallLog {
 public:
  static constexpr std::uint64_t kCapacity = 1 << 14;

  void add(const LoggedCall& call) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kCapacity) return;
    calls_[tail % kCapacity] = call;
    tail_.store(tail + 1, std::memory_order_release);
  }

  /// Takes the oldest call; false if there is none.
  bool take(LoggedCall& call) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    call = calls_[head % kCapacity];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

 private:
  std::array<LoggedCall, kCapacity> calls_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace hocket::nccl
