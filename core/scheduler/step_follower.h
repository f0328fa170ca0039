#pragma once

// Follows the steps that a job submits, and says which tasks of the partitioned step are to be
// submitted in their place (core/partitioning/step_partition.h). The first step is learned: it runs
// as it is submitted. From then on each task is compared with what was learned; a step that is
// another one goes on as it is submitted, and the next one is learned. Nothing depends on time, so
// ranks that submit alike do alike. Not thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/partitioning/step_partition.h"
#include "core/step/rank_grid.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

class StepFollower {
 public:
  explicit StepFollower(const RankGrid& grid) : grid_(grid) {}

  /// A task as it is submitted. What it points to is used until the call returns, but for `place`.
  struct Task {
    std::string_view name = {};
    std::uint32_t priority = 0;
    const TaskPlace* place = nullptr;
    std::optional<CollectiveKind> collective = {};
    std::int64_t bytes = 0;  ///< of a collective
    std::span<const Access> accesses = {};
  };

  enum class State {
    learning,   ///< tasks of this step are to be submitted as they are
    following,  ///< in place of them, those of partitioned()
    strayed,    ///< as `learning`, after what rest() says
  };
  State state() const { return state_; }

  /// Between steps. invalid_argument as partition_step() says, which changes nothing.
  Result<void> configure(const ScheduleConfig& config);

  /// The next task of the step. While it follows: those of partitioned() that come now, from the
  /// first to before the last.
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  Range submitted(const Task& task);

  /// What is left when a step has just strayed, in order: tasks of partitioned() of which all was
  /// submitted; and where buckets wait for tasks that will not come, those that did, which are to
  /// be submitted as they are.
  struct Rest {
    bool is_piece = true;
    std::uint32_t index = 0;  ///< of partitioned(), or among the step's tasks
  };
  std::vector<Rest> rest() const;

  /// The step is over, after which state() is what the next one begins with. True when it strayed
  /// only now, as not all tasks came: rest() is to be submitted, and this to be called again. The
  /// error of partition_step(), for a step that was learned.
  Result<bool> end_step();

  /// Pieces of data that the job submits; those of partitioned() from here on are new.
  std::size_t submitted_data() const { return learned_.data.size(); }
  /// What a collective of the step accesses.
  Access access_of(std::uint32_t task) const { return learned_.tasks[task].accesses.front(); }

  /// Of the step that is followed.
  const PartitionedStep& partitioned() const { return partitioned_; }
  /// Counts how often partitioned() became another one.
  std::uint64_t version() const { return version_; }
  /// Counts the steps that were learned.
  std::uint64_t learned() const { return learned_steps_; }

 private:
  bool is_next(const Task& task) const;
  void learn(const Task& task);
  void partition(PartitionedStep partitioned);

  const RankGrid grid_;
  std::optional<ScheduleConfig> config_;
  State state_ = State::learning;
  StepDescription learned_;
  std::vector<const TaskPlace*> places_;  // of the learned tasks
  PartitionedStep partitioned_;
  std::uint64_t version_ = 0, learned_steps_ = 0;
  // By task of the learned step: the first task of partitioned_ that waits for it or a later one.
  std::vector<std::uint32_t> first_piece_;
  std::uint32_t position_ = 0;  // tasks of this step so far
};

}  // namespace hocket
