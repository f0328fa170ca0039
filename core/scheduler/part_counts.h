#pragma once

// Counts the parts of collectives as their ranks count them: those of all ranks together, and those
// of each group of some ranks by themselves; messages between two ranks, each way. Private to this
// folder; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "core/scheduler/task_submission.h"

namespace hocket {

class PartCounts {
 public:
  /// Returns the number, from 0, of the next part of `collective`; null stands for an all-reduce of
  /// all ranks.
  std::uint64_t next(const SpecialCollective* collective) {
    if (collective == nullptr || !collective->is_of_some()) return of_all_++;
    const CollectiveWork& work = collective->work;
    if (is_message(work.kind))
      return of_some_[{work.group, true, work.peer, work.kind == CollectiveKind::send}]++;
    if (work.group == CollectiveGroup::world) return of_all_++;
    return of_some_[{work.group, false, 0, false}]++;
  }

  /// Counts from 0 again.
  void restart() {
    of_all_ = 0;
    of_some_.clear();
  }

 private:
  std::uint64_t of_all_ = 0;
  /// By group; of messages also by peer and direction.
  std::map<std::tuple<CollectiveGroup, bool, std::size_t, bool>, std::uint64_t> of_some_;
};

}  // namespace hocket
