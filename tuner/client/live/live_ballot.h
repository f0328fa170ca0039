#pragma once

// A job that is tuned while it trains, whatever its training loop is made of; every rank has one.
// The loop sums size() floats over the ranks once a step:
//
//   LiveBallot live({.tuning = {.config = config, .explore = 0.03}}, rank, world_size, link,
//   clock); for (…) {
//     live.fill(floats);                     // before the step's collectives
//     … the step, with an all-reduce (sum) of `floats` …
//     live.read(floats);                     // after it
//     live.iteration(step, wall_ns);         // rank 0
//     if (auto next = live.step_ended()) …   // from the next step on: next->config
//   }
//   live.finish();
//
// fill() and read() alternate and may come from any thread; the other methods are for one thread.
// A loop may be one step ahead of its ballot: read() of one step may come as late as before
// step_ended() of the next. With or without that, a choice that ballot b shows runs from step
// b + 2 on (tuner/client/live/switch_agreement.h), so ranks of both kinds change at the same step.

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "tuner/client/link/daemon_link.h"
#include "tuner/client/live/live_controller.h"
#include "tuner/client/live/switch_agreement.h"

namespace hocket {

/// What a step runs by.
struct LiveSetting {
  ScheduleConfig config = {};
  /// For order=static: the order of a step's collectives.
  std::vector<std::uint32_t> static_order = {};
};

struct LiveBallotOptions {
  /// Its payload_of is set by LiveBallot. Ranks other than 0 need nothing but the configuration.
  LiveControllerOptions tuning = {};
  /// Of `tuning.config`, when that is order=static.
  std::vector<std::uint32_t> static_order = {};
  /// Of the first step, as rank 0 calls steps.
  std::int64_t first_step = 0;
  /// On rank 0: the order of the collectives of a step that order=static follows under a
  /// configuration; without it no configuration with that order is tried. It may take a while: the
  /// other ranks go on meanwhile until they need rank 0.
  std::function<Result<std::vector<std::uint32_t>>(const ScheduleConfig&)> static_order_of = {};
  /// Whether this rank can run with a configuration that is valid. Called from any thread.
  std::function<Result<void>(const ScheduleConfig&)> accept = {};
  /// On every rank: `steps` steps from `first_step` on are to be profiled. Called once for each
  /// order, from step_ended(), before the first of them begins. Counts steps from the ballot's own
  /// first one, as a scheduler does. Empty on rank 0: requests for profiles are not taken up.
  std::function<void(std::int64_t first_step, std::int64_t steps)> on_profile = {};
};

class LiveBallot {
 public:
  /// Steps that may be submitted while a ballot is not read yet.
  static constexpr int kStepsAhead = 1;

  /// `link` is rank 0's and may be null: nothing is tried then. What is given outlives this.
  LiveBallot(LiveBallotOptions options, int rank, int world_size, DaemonLink* link,
             const Clock& clock);

  /// Floats of a ballot; the same on every rank.
  std::size_t size() const { return agreement_.slots(); }
  /// This rank's part of the next ballot: size() floats.
  void fill(std::span<float> ballot) const;
  /// The sum over the ranks of what they filled in.
  void read(std::span<const float> sum);

  /// A step was submitted. Goes on with the tuning, and gives what steps run by from the next one
  /// on when that changes: at the same step on every rank. All ballots but the last have been read.
  std::optional<LiveSetting> step_ended();

  /// On rank 0: what a step took; of steps in turn, from where the job is warm. Ignored elsewhere.
  /// `activity`: how it spent that time, where the job measures it.
  void iteration(std::int64_t step, std::int64_t wall_ns,
                 const std::optional<JobActivity>& activity = {});

  /// The job ends, with all ballots read: the last report.
  void finish();

  /// What the next step runs with.
  const ScheduleConfig& running() const { return running_; }
  /// On rank 0: what the job has settled on, and the share of its time that trying has cost.
  const ScheduleConfig& config() const { return controller_ ? controller_->config() : running_; }
  double explored() const { return controller_ ? controller_->explored() : 0; }

 private:
  static Result<LiveSetting> parse(const std::string& payload);
  Result<void> accept(const std::string& payload) const;
  Result<std::string> payload_of(const ScheduleConfig& config) const;
  void tune();
  void send_report();

  const LiveBallotOptions options_;
  DaemonLink* const link_;
  const Clock& clock_;
  ScheduleConfig running_;
  std::int64_t steps_ = 0;  // ended
  /// From which step on each configuration ran, by its id.
  std::deque<std::pair<std::int64_t, int>> ran_;
  std::pair<ScheduleConfig, std::int64_t> told_;  // to the link
  std::optional<ProfileOrder> told_profile_;      // to on_profile

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  SwitchAgreement agreement_;
  std::optional<LiveController> controller_;  // rank 0 with a link
};

}  // namespace hocket
