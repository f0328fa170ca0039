#pragma once

// The communicators of a process, as NCCL's contexts name them. A context is no address but a
// number with a generation, so that a call with the context of a closed communicator finds nothing;
// NCCL's proxy thread makes such calls.
//
// Opening and closing take a lock; find() and the flags do not. A communicator is never freed but
// reused. Thread-safe.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "plugins/nccl/abi/plugin_calls.h"

namespace hocket::nccl::abi {

/// A communicator that NCCL has opened for its tuner, its profiler or both. The fields that are not
/// atomic are written while only the thread that opens the communicator knows it.
struct Communicator {
  std::atomic<std::uint32_t> generation{0};
  std::atomic<bool> is_tuner_open{false}, is_profiler_open{false};

  std::uint64_t comm_id = 0;
  int ranks = 0;
  bool knows_rank = false;
  bool reports_call = false;  ///< the first call is to be reported to `hocket doctor`
  Logger logger = nullptr;
  measure::CollectiveMeter* meter = nullptr;
  CommunicatorCalls* calls = nullptr;
  int* event_mask = nullptr;

  bool has_chained_tuner = false;
  void* chained_tuner = nullptr;
  // The proxy thread reads these at any time.
  std::atomic<bool> has_chained_profiler{false};
  std::atomic<void*> chained_profiler{nullptr};
};

class Communicators {
 public:
  static constexpr std::size_t kMost = 4096;

  Communicators() = default;
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Returns the context of a new communicator, neither open for a tuner nor for a profiler; null
  /// if there are too many. What find() returns for it has the defaults.
  void* add();
  /// Returns the communicator of a context; null for any other pointer and for closed ones.
  Communicator* find(const void* context) const;
  /// Makes the context stale.
  void remove(void* context);

  /// Clears the flag. Returns true exactly once for a communicator, for the later of its two flags,
  /// or for its only one.
  bool close(Communicator& communicator, std::atomic<bool>& flag);

 private:
  std::array<std::atomic<Communicator*>, kMost> all_{};
  std::mutex mutex_;  // guards the members below, and additions to all_
  std::array<bool, kMost> is_used_{};
};

}  // namespace hocket::nccl::abi
