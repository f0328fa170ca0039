#pragma once

// Live tuning (tuner/client/live/live_ballot.h) of a training loop that is on the scheduler; every
// rank has one.
//
//   LiveJob live({.tuning = {.config = config, .explore = 0.03}}, scheduler, link, clock);
//   for (…) {
//     … submit the step …
//     live.submit(last_gradient);
//     if (auto ok = scheduler.end_step(); !ok) …
//     live.iteration(measured_step, wall_ns);   // rank 0
//     if (auto ok = live.step_submitted(); !ok) …
//   }
//   scheduler.synchronize();
//   live.finish();
//
// All methods are for the thread that submits. A rank that dies fails the job as it does without
// this: the ballot is a collective like any other.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/scheduler/scheduler.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"
#include "tuner/client/link/daemon_link.h"
#include "tuner/client/live/live_ballot.h"

namespace hocket {

/// `static_order` is the scheduler's (SchedulerOptions::static_order), with the ballot;
/// `static_order_of` gives orders without it.
using LiveJobOptions = LiveBallotOptions;

class LiveJob {
 public:
  /// `scheduler` runs `options.tuning.config` and has submitted no step yet. `link` is rank 0's and
  /// may be null: nothing is tried then. Everything given outlives this, and this outlives what it
  /// has submitted.
  LiveJob(LiveJobOptions options, Scheduler& scheduler, DaemonLink* link, const Clock& clock);

  /// Adds the ballot to the step that is being submitted (or captured), as its last collective. It
  /// begins after the tasks of the step that write `after`: so that it does not count as the step's
  /// beginning, name something that is written late.
  void submit(DataId after);

  /// A step was submitted and ended (end_step() or replay()). Goes on with the tuning, and when a
  /// change is due now, reconfigures the scheduler: the step is the same on every rank.
  Result<void> step_submitted();

  /// On rank 0: what a step took, from the start of its first task to the start of the next step's;
  /// of steps in turn, from where the job is warm. Ignored elsewhere. `activity`: how it spent that
  /// time, where the job measures it.
  void iteration(std::int64_t step, std::int64_t wall_ns,
                 const std::optional<JobActivity>& activity = {}) {
    ballot_.iteration(step, wall_ns, activity);
  }

  /// The job ends, with everything submitted done: the last report.
  void finish() { ballot_.finish(); }

  /// What runs in the step that is submitted next.
  const ScheduleConfig& running() const { return ballot_.running(); }
  /// On rank 0: what the job has settled on, and the share of its time that trying has cost.
  const ScheduleConfig& config() const { return ballot_.config(); }
  double explored() const { return ballot_.explored(); }

 private:
  Scheduler& scheduler_;
  const DataId floats_data_;
  LiveBallot ballot_;
  std::vector<float> floats_;  // of the tasks that access floats_data_
};

/// `order` of a step's collectives (SchedulerOptions::static_order) with the ballot that submit()
/// adds. An empty order stays empty. A job that starts with order=static needs it from the start.
std::vector<std::uint32_t> with_ballot(std::vector<std::uint32_t> order, int world_size,
                                       const ScheduleConfig& config);

}  // namespace hocket
