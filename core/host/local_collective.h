#pragma once

// Ranks that are threads of one process, meeting in memory: the in-memory implementation of
// Collective. Sums in rank order, so results do not depend on who arrives when. Thread-safe.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/collective.h"

namespace hocket {

/// What the ranks of one group share.
class LocalGroup {
 public:
  explicit LocalGroup(int world_size, std::int64_t timeout_ns = 30'000'000'000);

  /// The collective of one rank; the group must outlive it.
  std::unique_ptr<Collective> join(int rank);

 private:
  friend class LocalCollective;

  struct Meeting {
    std::vector<std::span<float>> values;  // by rank
    int arrived = 0;
    int left = 0;
    bool mismatch = false;
  };

  Result<void> all_reduce(int rank, std::span<float> values, std::uint64_t index);
  Result<std::string> hear(int rank);
  static void reduce(Meeting& meeting);
  /// Waits for `ready()`; a failure closes the group, so that nobody sums into values of a rank
  /// that left.
  Result<void> wait(std::unique_lock<std::mutex>& lock, const auto& ready, const char* what);

  const int world_size_;
  const std::int64_t timeout_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::map<std::uint64_t, Meeting> meetings_;
  std::vector<std::deque<std::string>> messages_;  // by receiving rank
  bool aborted_ = false;
};

}  // namespace hocket
