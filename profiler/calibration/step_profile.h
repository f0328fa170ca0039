#pragma once

// Derives a step description from profiled steps: the submitted tasks, their durations, the cost of
// communication and its slow-down of computation.
//
//   StepProfile profile;
//   Scheduler scheduler(config, executor, {.trace = &profile, .observer = &profile, …});
//   … some steps, scheduler.synchronize() …
//   auto description = describe_step(profile.steps(1));
//
// For steps that are placed on a device of limited memory and its host
// (core/placement/step_placement.h) it describes what the job submits, with the times on both
// sides and the cost of copies.
//
// A StepProfile is thread-safe as PlanObserver and TraceSink require; the functions are pure.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/plan/plan_observer.h"
#include "core/step/schedule_config.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// A task of one step.
struct ProfiledTask {
  std::string name;
  std::uint32_t priority = 0;
  /// Data are numbered from 0 in the order in which the step names them.
  std::vector<Access> accesses;
  bool is_collective = false;
  std::int64_t bytes = 0;                            ///< collectives only
  std::int64_t duration_ns = 0;                      ///< compute tasks only
  std::int64_t beside_ns = 0;                        ///< time of it with a part on a channel
  CollectiveKind kind = CollectiveKind::all_reduce;  ///< collectives only
  TaskLane lane = TaskLane::stream;                  ///< compute tasks only
};

struct ProfiledPart {
  std::int64_t bytes = 0;
  std::int64_t duration_ns = 0;                      ///< time on its channel
  CollectiveKind kind = CollectiveKind::all_reduce;  ///< as recorded: a push or a pull with servers
  CollectiveGroup group = CollectiveGroup::world;
  double share = 1;  ///< mean share of the link; other parts had the rest
};

/// A copy between the memories of a device and its host.
struct ProfiledCopy {
  bool is_to_device = false;
  std::int64_t bytes = 0;
  std::int64_t duration_ns = 0;
};

struct ProfiledStep {
  std::vector<ProfiledTask> tasks;  ///< in the order of submission, without copies
  std::vector<ProfiledPart> parts = {};
  std::vector<ProfiledCopy> copies = {};
  /// The step without times that the tasks were placed from, if they were placed. Its accesses
  /// count then, not those of the tasks.
  std::shared_ptr<const StepDescription> placed_from = {};
};

/// Records one scheduler's steps. Must watch it from its first task on.
class StepProfile final : public PlanObserver, public TraceSink {
 public:
  void submitted(const SubmittedTask& task) override;
  void launched(const CapturedStep& step, TaskId first) override;
  void record(const TraceEvent& event) override;
  void placed(const StepDescription& step) override;

  /// Returns the steps that have ended, with all before them, in order, without the first `warmup`.
  std::vector<ProfiledStep> steps(std::int64_t warmup) const;

 private:
  /// A task and its events: one on a stream, or one for each part.
  struct Task {
    ProfiledTask profiled;
    std::int64_t step = -1;  ///< unknown until some of it has ended
    std::int64_t traced_bytes = 0;
    std::vector<TraceEvent> events;
    std::shared_ptr<const StepDescription> placed_from;
  };

  void add(ProfiledTask task, TaskId id);
  static bool has_ended(const Task& task) {
    return !task.events.empty() && task.traced_bytes >= task.profiled.bytes;
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<Task> tasks_;                                  // in the order of submission
  std::unordered_map<std::uint64_t, std::size_t> index_of_;  // by task id
  std::shared_ptr<const StepDescription> placed_from_;
};

/// Derives the description of the step that `steps` repeat; they may come from several profiles of
/// one job.
///
/// Serial steps are those in which nothing ran beside communication. With them, durations are
/// medians over the serial steps. The slow-down is how much slower a task runs while a part is on a
/// channel: the median over the other steps of the ratio of lost to remaining computation time.
/// Without serial steps, or if tasks took no longer beside communication, the slow-down is 0 and
/// durations are medians over the other steps.
///
/// The cost of a part is that of collectives among all ranks, beside computation if there is any:
/// communicating threads then wait for a core, too. It is a straight line through the times of each
/// size, fitted with Theil and Sen's method (Sen, JASA 1968), pairs weighted by their evidence.
/// With a single size all of the cost is beta.
///
/// In placed steps, which may be under several placements, the times of updates are those of the
/// side on which they ran (profiler/calibration/placed_times.h).
///
/// One outlier among the steps changes nothing; delays of a few tasks or parts in every step count.
///
/// Returns invalid_argument without steps, if the steps differ in more than times, or if a value of
/// the description is out of range.
Result<StepDescription> describe_step(std::span<const ProfiledStep> steps);

/// Returns `step` with names of tasks and of data that are unique, as the JSON form needs them:
/// repeated ones get a number.
StepDescription with_unique_names(StepDescription step);

/// Returns `step` with the overhead of dividing its computations (Dimension::piece_ns), along the
/// dimensions that `config` divides. `divided` are steps of the same job profiled under `config`.
/// The overhead is the time of all pieces of a task beyond the undivided task, per piece after the
/// first. Returns invalid_argument as describe_step() and partition_step() do, or if `divided` are
/// not the steps that `config` yields.
Result<StepDescription> with_piece_costs(StepDescription step, const ScheduleConfig& config,
                                         std::span<const ProfiledStep> divided);

/// Returns `step` with the cost of a part in each group that the parts of `grouped` used: steps of
/// the same job under other group_ranks. Fitted as in describe_step().
StepDescription with_group_costs(StepDescription step, std::span<const ProfiledStep> grouped);

/// Returns `step` with `servers` parameter servers and the links that the pushes and pulls of
/// `served` show: steps of the same job. Without such parts it stays as it is.
///
/// A part's time on its channel is fitted as in describe_step(), both ways together. What does not
/// depend on the bytes is StepServers::alpha_ns. What does is the rate of a rank's part while all
/// ranks exchange theirs with the same server, and no other part of the rank goes that way. From
/// that alone a slow link of a rank looks like a busy link of a server, so that all links are taken
/// to be alike: as many times faster than that rate as there are ranks.
StepDescription with_servers(StepDescription step, std::span<const ProfiledStep> served,
                             std::int64_t servers);

}  // namespace hocket
