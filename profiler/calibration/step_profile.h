#pragma once

// From some profiled steps to a step description: what a job submits, how long its tasks take, what
// its communication costs and how much that slows its computation.
//
//   StepProfile profile;
//   Scheduler scheduler(config, executor, {.trace = &profile, .observer = &profile, …});
//   … some steps, scheduler.synchronize() …
//   auto description = describe_step(profile.steps(1));
//
// A StepProfile is thread-safe as PlanObserver and TraceSink ask for; the functions are pure.

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan_observer.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// A task of one step.
struct ProfiledTask {
  std::string name;
  std::uint32_t priority = 0;
  /// Data are numbered by the profile, from 0, in the order in which the step names them.
  std::vector<Access> accesses;
  bool is_collective = false;
  std::int64_t bytes = 0;                            ///< of a collective
  std::int64_t duration_ns = 0;                      ///< of a compute task
  std::int64_t beside_ns = 0;                        ///< of that, while a part was on a channel
  CollectiveKind kind = CollectiveKind::all_reduce;  ///< of a collective
};

struct ProfiledPart {
  std::int64_t bytes = 0;
  std::int64_t duration_ns = 0;  ///< on its channel
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
};

struct ProfiledStep {
  std::vector<ProfiledTask> tasks;  ///< in the order of submission
  std::vector<ProfiledPart> parts;
};

/// Watches one scheduler, from its first task on.
class StepProfile final : public PlanObserver, public TraceSink {
 public:
  void configured(const PlanOptions&) override {}
  void submitted(const SubmittedTask& task) override;
  void launched(const CapturedStep& step, TaskId first) override;
  void announced(std::span<const std::uint64_t>) override {}
  void ready(TaskId) override {}
  void started(TaskId) override {}
  void started_part(TaskId, std::int64_t, std::int64_t) override {}
  void finished(TaskId) override {}
  void finished_part(TaskId, std::int64_t) override {}
  void record(const TraceEvent& event) override;

  /// The steps that have ended, with all before them, in order, without the first `warmup`.
  std::vector<ProfiledStep> steps(std::int64_t warmup) const;

 private:
  /// A task and what it ran as: once on a stream, or in parts.
  struct Task {
    ProfiledTask profiled;
    std::int64_t step = -1;  ///< unknown until something of it has ended
    std::int64_t traced_bytes = 0;
    std::vector<TraceEvent> events;
  };

  void add(ProfiledTask task, TaskId id);
  static bool has_ended(const Task& task) {
    return !task.events.empty() && task.traced_bytes >= task.profiled.bytes;
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<Task> tasks_;                                  // in the order of submission
  std::unordered_map<std::uint64_t, std::size_t> index_of_;  // by id
};

/// The general form of the step that `steps` repeat, possibly of several profiles of one job.
///
/// With serial steps, in which nothing ran beside communication, durations are medians over those
/// and the slow-down is such that a task slows by it while a part is on a channel: the median over
/// the other steps of the time that computation lost there, in relation to what was left. Without
/// serial steps, or when tasks took no longer beside communication, the slow-down is 0 and
/// durations are the medians over the other steps.
///
/// A part's cost is that of collectives of all ranks, beside computation, if there was any: threads
/// that communicate then wait for a core, too. It is a straight line through the times of each
/// size, as Theil and Sen fit it (Sen, JASA 1968), pairs weighted by how much they tell. With a
/// single size all of it is beta.
///
/// One wild step changes nothing, but what delays a few tasks or parts of every step counts.
///
/// invalid_argument when there is no step, when the steps differ in more than times, or when the
/// description would be out of its ranges.
Result<StepDescription> describe_step(std::span<const ProfiledStep> steps);

/// `step`, with what dividing its computations adds (Dimension::piece_ns) along the dimensions
/// along which they are divided under `config`, from steps of the same job that were profiled under
/// it: what all pieces of a task took beyond the task, for each piece after the first.
/// invalid_argument as describe_step() and partition_step() say, or when `divided` are not the
/// steps that come out under `config`.
Result<StepDescription> with_piece_costs(StepDescription step, const ScheduleConfig& config,
                                         std::span<const ProfiledStep> divided);

/// `step`, with what a part costs in each group that the parts of `grouped` went through: steps of
/// the same job under other group_ranks. Fitted as describe_step() says.
StepDescription with_group_costs(StepDescription step, std::span<const ProfiledStep> grouped);

}  // namespace hocket
