#pragma once

// Counts the parts of collectives as their ranks count them: those of all ranks together, and those
// of each group of some ranks by themselves; messages between two ranks, each way. Private to this
// folder; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "core/scheduler/task_submission.h"
#include "core/step/mesh.h"

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

/// Numbers parts for traces by the ranks that take part (TraceEvent::sequence): two groups of the
/// same ranks count together, and so do the messages to or from a rank in whatever group.
class PartSequences {
 public:
  /// Returns the number of the next part of `collective`, as PartCounts::next() takes it, on `rank`
  /// of `mesh`; only a collective of some ranks needs one.
  std::int64_t next(const SpecialCollective* collective, const Mesh* mesh, std::int64_t rank) {
    if (collective == nullptr || !collective->is_of_some()) return of_all_++;
    const CollectiveWork& work = collective->work;
    if (is_message(work.kind)) {
      const std::int64_t peer =
          mesh->rank_at(work.group.axes, rank, static_cast<std::int64_t>(work.peer));
      return of_messages_[{peer, work.kind == CollectiveKind::send}]++;
    }
    if (mesh->size_of(work.group) == mesh->grid().ranks) return of_all_++;
    return of_groups_[work.group]++;
  }

 private:
  std::int64_t of_all_ = 0;
  std::map<CollectiveGroup, std::int64_t> of_groups_;
  std::map<std::pair<std::int64_t, bool>, std::int64_t> of_messages_;  ///< by rank, sent or not
};

}  // namespace hocket
