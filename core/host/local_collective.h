#pragma once

// Ranks as threads of one process: the in-memory implementation of Collective. Sums in rank order,
// so results do not depend on the order of arrival. Values that a reduce-scatter leaves undefined
// become NaN, so that using them shows. Thread-safe.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/collective/collective.h"
#include "core/collective/collective_blocks.h"

namespace hocket {

/// State shared by the ranks.
class LocalGroup {
 public:
  /// Each `ranks_per_host` consecutive ranks count as one host; it must divide `world_size`. 0: all
  /// ranks are on one host.
  explicit LocalGroup(int world_size, std::int64_t timeout_ns = 30'000'000'000,
                      int ranks_per_host = 0);
  LocalGroup(const Mesh& mesh, std::int64_t timeout_ns);

  /// Returns the collective of one rank; the group must outlive it.
  std::unique_ptr<Collective> join(int rank);

 private:
  friend class LocalCollective;

  /// Index, group and the group's first rank: each group counts its parts by itself. For a message
  /// from one rank to another also these two, otherwise −1.
  using MeetingKey =
      std::tuple<std::uint64_t, CollectiveGroup, std::int64_t, std::int64_t, std::int64_t>;
  struct Meeting {
    std::vector<CollectiveWork> works;  // by member
    std::size_t arrived = 0;
    std::size_t left = 0;
    bool mismatch = false;
  };

  Result<void> run(int rank, const CollectiveWork& work);
  /// Runs `carry_out(meeting)` once all `members` have come with their works; `own` is this one.
  Result<void> meet(const MeetingKey& key, std::size_t members, std::size_t own,
                    const CollectiveWork& work, const auto& carry_out);
  Result<std::string> hear(int rank);
  /// Waits for `ready()`. A failure closes the group, so that no rank sums into values of a rank
  /// that left.
  Result<void> wait(std::unique_lock<std::mutex>& lock, const auto& ready, const char* what);

  const Mesh mesh_;
  const std::int64_t timeout_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::map<MeetingKey, Meeting> meetings_;
  std::vector<std::deque<std::string>> messages_;  // by receiving rank
  bool aborted_ = false;
};

}  // namespace hocket
