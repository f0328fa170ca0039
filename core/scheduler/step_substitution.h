#pragma once

// Recognises the steps that a job repeats, and determines the tasks of the partitioned step to
// submit in their place (core/partitioning/step_partition.h). The first step is recorded: it runs
// as submitted, and is recognised from then on. After that each task is compared with the
// recognised step; a step that deviates continues as submitted, and the next one is recorded.
// Nothing depends on time, so ranks that submit the same tasks behave the same. Not thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/partitioning/step_partition.h"
#include "core/step/rank_grid.h"
#include "core/step/schedule_config.h"

namespace hocket {

class StepSubstitution {
 public:
  explicit StepSubstitution(const RankGrid& grid) : grid_(grid) {}

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
    /// Submit the tasks of this step as they are; it is recorded.
    recognising,
    /// Submit tasks of partitioned() instead.
    recognised,
    /// Submit the tasks of rest(), then the others of this step as they are.
    deviated,
  };
  State state() const { return state_; }

  /// Changes the configuration. Call it between steps. Returns the error of partition_step(), which
  /// leaves everything unchanged.
  Result<void> configure(const ScheduleConfig& config);

  /// Passes the next task of the step. While the step is recognised, returns the tasks of
  /// partitioned() to submit now, [first, last).
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  Range submitted(const Task& task);

  /// Returns, in order, the tasks left to submit when a step has just deviated: tasks of
  /// partitioned() whose sources were all submitted, and, for buckets that wait for tasks that will
  /// not come, the members that did come, which are submitted as they are.
  struct Rest {
    bool is_piece = true;
    /// Index in partitioned(), or among the step's tasks when !is_piece.
    std::uint32_t index = 0;
  };
  std::vector<Rest> rest() const;

  /// Ends the step; state() is then that of the next one. Returns true if the step deviates only
  /// now because tasks are missing: submit rest() and call end_step() again. Returns the error of
  /// partition_step() for a step that was recorded.
  Result<bool> end_step();

  /// Returns the number of data items that the job submits; data of partitioned() from this index
  /// on are new.
  std::size_t submitted_data() const { return recognised_.data.size(); }
  /// Returns the first access of a collective of the step.
  Access access_of(std::uint32_t task) const { return recognised_.tasks[task].accesses.front(); }

  /// Returns the partitioned form of the recognised step.
  const PartitionedStep& partitioned() const { return partitioned_; }
  /// Counts the changes of partitioned().
  std::uint64_t version() const { return version_; }
  /// Counts the steps that became the recognised one.
  std::uint64_t recognised_steps() const { return recognised_steps_; }

 private:
  bool is_next(const Task& task) const;
  void record(const Task& task);
  void partition(PartitionedStep partitioned);

  const RankGrid grid_;
  std::optional<ScheduleConfig> config_;
  State state_ = State::recognising;
  StepDescription recognised_;
  // Indexed by recognised task.
  std::vector<const TaskPlace*> places_;
  PartitionedStep partitioned_;
  std::uint64_t version_ = 0, recognised_steps_ = 0;
  // Indexed by recognised task: first task of partitioned_ with this task or a later one as a
  // source.
  std::vector<std::uint32_t> first_piece_;
  // Tasks of this step so far.
  std::uint32_t position_ = 0;
};

}  // namespace hocket
