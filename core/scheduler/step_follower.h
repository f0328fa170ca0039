#pragma once

// Follows the steps that a job submits, and determines the tasks of the partitioned step to submit
// instead (core/partitioning/step_partition.h). The first step is learned: it runs as submitted.
// After that each task is compared with the learned step; a step that deviates continues as
// submitted, and the next one is learned. Nothing depends on time, so ranks that submit the same
// tasks behave the same. Not thread-safe.

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

  /// A task as the job submits it. Its pointers are used only until the call returns, except
  /// `place`, which is kept and compared by address.
  struct Task {
    std::string_view name = {};
    std::uint32_t priority = 0;
    const TaskPlace* place = nullptr;
    std::optional<CollectiveKind> collective = {};
    /// Size of the collective; 0 for a compute task.
    std::int64_t bytes = 0;
    std::span<const Access> accesses = {};
  };

  enum class State {
    /// Submit the tasks of this step as they are.
    learning,
    /// Submit tasks of partitioned() instead.
    following,
    /// Like `learning`, after the tasks of rest().
    strayed,
  };
  State state() const { return state_; }

  /// Changes the configuration. Call it between steps. Returns the error of partition_step(), which
  /// leaves everything unchanged.
  Result<void> configure(const ScheduleConfig& config);

  /// Passes the next task of the step. While following, returns the tasks of partitioned() to
  /// submit now, [first, last).
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  Range submitted(const Task& task);

  /// Returns, in order, the tasks left to submit when a step has just strayed: tasks of
  /// partitioned() whose sources were all submitted, and, for buckets that wait for tasks that will
  /// not come, the members that did come, which are submitted as they are.
  struct Rest {
    bool is_piece = true;
    /// Index in partitioned(), or among the step's tasks when !is_piece.
    std::uint32_t index = 0;
  };
  std::vector<Rest> rest() const;

  /// Ends the step; state() is then that of the next one. Returns true if the step strays only now
  /// because tasks are missing: submit rest() and call end_step() again. Returns the error of
  /// partition_step() for a step that was learned.
  Result<bool> end_step();

  /// Returns the number of data items that the job submits; data of partitioned() from this index
  /// on are new.
  std::size_t submitted_data() const { return learned_.data.size(); }
  /// Returns the first access of a collective of the step.
  Access access_of(std::uint32_t task) const { return learned_.tasks[task].accesses.front(); }

  /// Returns the partitioned form of the step that is followed.
  const PartitionedStep& partitioned() const { return partitioned_; }
  /// Counts the changes of partitioned().
  std::uint64_t version() const { return version_; }
  /// Counts the learned steps.
  std::uint64_t learned() const { return learned_steps_; }

 private:
  bool is_next(const Task& task) const;
  void learn(const Task& task);
  void partition(PartitionedStep partitioned);

  const RankGrid grid_;
  std::optional<ScheduleConfig> config_;
  State state_ = State::learning;
  StepDescription learned_;
  // Indexed by learned task.
  std::vector<const TaskPlace*> places_;
  PartitionedStep partitioned_;
  std::uint64_t version_ = 0, learned_steps_ = 0;
  // Indexed by learned task: first task of partitioned_ with this task or a later one as a source.
  std::vector<std::uint32_t> first_piece_;
  // Tasks of this step so far.
  std::uint32_t position_ = 0;
};

}  // namespace hocket
