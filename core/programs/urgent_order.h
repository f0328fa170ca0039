#pragma once

// Decides the order of parts for ranks that do not all take part in everything: the most urgent
// part comes first among those that all of their ranks may start now. Whatever it decides starts on
// all of its ranks at once, so that the decisions are one order for the whole job, and no rank
// waits for one that waits for it (core/plan/job_order.h).
// Pure. Not thread-safe.

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/plan/captured_step.h"
#include "core/plan/plan_observer.h"
#include "core/programs/job_fold.h"

namespace hocket {

class UrgentOrder {
 public:
  /// A part to start on all of its ranks.
  struct Decision {
    std::uint32_t communication = 0;
    std::uint32_t launch = 0;
  };

  /// Ranks are the classes of `fold`, of which none takes part in a communication twice.
  /// `captured` is the step of each.
  UrgentOrder(std::shared_ptr<const JobFold> fold,
              std::vector<std::shared_ptr<const CapturedStep>> captured,
              std::int64_t partition_bytes);

  /// The observer by which the plan of `rank` says what is ready. Its address does not change.
  PlanObserver* observer(std::uint32_t rank) { return &watchers_[rank]; }
  /// Number of a communication among those of the program of `rank`, which takes part in it.
  std::uint32_t number(std::uint32_t rank, std::uint32_t communication) const {
    return numbers_[rank].find(communication)->second;
  }

  /// Returns the next part, which then counts as started, or nothing. `may_start(rank, number,
  /// launch)` says whether a rank could start a part of its communication `number`.
  template <class MayStart>
  std::optional<Decision> next(const MayStart& may_start) {
    for (auto waiting = ready_.begin(); waiting != ready_.end(); ++waiting) {
      const Decision decision = waiting->decision;
      bool starts = true;
      for (const std::uint32_t rank : fold_->communications[decision.communication].members)
        starts = starts && may_start(rank, number(rank, decision.communication), decision.launch);
      if (!starts) continue;
      if (--waiting->parts_left == 0) ready_.erase(waiting);
      return decision;
    }
    return std::nullopt;
  }

 private:
  class Watcher : public PlanObserver {
   public:
    Watcher(UrgentOrder* order, std::uint32_t rank) : order_(order), rank_(rank) {}
    void ready(TaskId task) override { order_->ready(rank_, task); }

   private:
    UrgentOrder* order_;
    std::uint32_t rank_;
  };
  /// A communication that all of its ranks have ready.
  struct Ready {
    std::uint32_t priority = 0;
    std::uint64_t since = 0;  ///< decides between equals
    Decision decision;
    mutable std::int64_t parts_left = 0;  // not part of the order in the set

    bool operator<(const Ready& other) const {
      return std::pair(priority, since) < std::pair(other.priority, other.since);
    }
  };
  /// One that some ranks have ready.
  struct Pending {
    std::size_t ranks = 0;
    std::uint32_t priority = ~std::uint32_t{0};  ///< the most urgent of its ranks'
  };

  void ready(std::uint32_t rank, TaskId task);

  const std::shared_ptr<const JobFold> fold_;
  const std::vector<std::shared_ptr<const CapturedStep>> captured_;  // by rank
  const std::int64_t partition_bytes_;
  std::deque<Watcher> watchers_;                                        // by rank
  std::vector<std::map<std::uint32_t, std::uint32_t>> numbers_;         // by rank and communication
  std::vector<std::vector<std::uint32_t>> communications_;              // by rank and task
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pending> pending_;  // by launch
  std::set<Ready> ready_;
  std::uint64_t count_ = 0;
};

}  // namespace hocket
