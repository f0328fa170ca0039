#pragma once

// Live tuning (client/live/live_ballot.h) of a training loop that uses the scheduler. Every
// rank has one LiveJob.
//
//   LiveJob live({.tuning = {.config = config, .explore = 0.03}}, scheduler, link, clock);
//   for (…) {
//     … submit the step …
//     live.submit(last_gradient);
//     if (auto ok = scheduler.end_step(); !ok) …
//     live.iteration(measured_step, wall_ns);   // rank 0
//     live.counted(measured_step, counters);    // every rank, if it counts
//     if (auto ok = live.step_submitted(); !ok) …
//   }
//   scheduler.synchronize();
//   live.finish();
//
// Call all methods on the thread that submits. A rank that dies fails the job as it does without
// LiveJob: the ballot is a collective like any other.

#include <cstdint>
#include <optional>
#include <vector>

#include "client/link/daemon_link.h"
#include "client/live/live_ballot.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/scheduler/scheduler.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"

namespace hocket {

/// `static_order` is that of the scheduler (SchedulerOptions::static_order) and includes the
/// ballot; `static_order_of` returns orders without it.
using LiveJobOptions = LiveBallotOptions;

class LiveJob {
 public:
  /// Requires that `scheduler` runs `options.tuning.config` and has submitted no step yet. `link`
  /// is used on rank 0 only and may be null; then nothing is tried. All arguments must outlive this
  /// object, which must outlive the tasks it has submitted.
  LiveJob(LiveJobOptions options, Scheduler& scheduler, DaemonLink* link, const Clock& clock);

  /// Adds the ballot as the last collective of the step that is being submitted or captured. It
  /// begins after the step's tasks that write `after`. Choose data that is written late, so that
  /// the ballot does not count as the beginning of the step.
  void submit(DataId after);

  /// Advances the tuning after a step was submitted and ended (end_step() or launch()). If a change
  /// is due, reconfigures the scheduler, at the same step on every rank.
  Result<void> step_submitted();

  /// Reports the time of a step on rank 0, from the start of its first task to the start of the
  /// next step's first task; ignored elsewhere. Steps must be reported in order, starting once the
  /// job is warm. `activity`: how the step spent that time, if the job measures it.
  void iteration(std::int64_t step, std::int64_t wall_ns,
                 const std::optional<JobActivity>& activity = {}) {
    ballot_.iteration(step, wall_ns, activity);
  }

  /// Keeps what this rank counted in a step, see LiveBallot::counted().
  void counted(std::int64_t step, const RankCounters& counters) { ballot_.counted(step, counters); }

  /// Rank 0: adds what the job has measured itself to the next reports, see LiveBallot::measured().
  bool measured(const std::string& name, double value) { return ballot_.measured(name, value); }

  /// Sends the last report. Call when the job ends, after all submitted work is done.
  void finish() { ballot_.finish(); }

  /// Returns the configuration of the step that is submitted next.
  const ScheduleConfig& running() const { return ballot_.running(); }
  /// Rank 0: the current configuration, and the share of the training time that exploration has
  /// cost.
  const ScheduleConfig& config() const { return ballot_.config(); }
  double explored() const { return ballot_.explored(); }

 private:
  Scheduler& scheduler_;
  const DataId floats_data_;
  LiveBallot ballot_;
  // Storage of floats_data_; accessed only by its tasks.
  std::vector<float> floats_;
};

/// Returns `order`, the order of a step's collectives (SchedulerOptions::static_order), with the
/// ballot of submit() added. A job that starts with order=static must use it from the start.
std::vector<std::uint32_t> with_ballot(std::vector<std::uint32_t> order, int world_size,
                                       const ScheduleConfig& config);

}  // namespace hocket
