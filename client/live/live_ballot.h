#pragma once

// Live tuning of a job with any kind of training loop. Every rank has one LiveBallot. The loop sums
// size() floats over the ranks once a step:
//
//   LiveBallot live({.tuning = {.config = config, .explore = 0.03}}, rank, world_size,
//                   link, clock);
//   for (…) {
//     live.fill(floats);                     // before the step's collectives
//     … the step, with an all-reduce (sum) of `floats` …
//     live.read(floats);                     // after the step's collectives
//     live.iteration(step, wall_ns);         // rank 0
//     live.counted(step, counters);          // every rank, if it counts
//     if (auto next = live.step_ended()) …   // from the next step on: next->config
//   }
//   live.finish();
//
// fill() and read() alternate and may be called from any thread; the other methods are for one
// thread. A loop may be one step ahead of its ballot: read() of one step may be called as late as
// just before step_ended() of the next. In both cases a selection seen in ballot b takes effect at
// step b + 2 (client/live/switch_agreement.h), so ranks of both kinds change at the same
// step.

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/link/daemon_link.h"
#include "client/live/counter_exchange.h"
#include "client/live/live_controller.h"
#include "client/live/process_meter.h"
#include "client/live/switch_agreement.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/step/declared_knob.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Configuration of a step.
struct LiveSetting {
  ScheduleConfig config = {};
  /// Order of a step's collectives, for order=static.
  std::vector<std::uint32_t> static_order = {};
};

struct LiveBallotOptions {
  /// Options of the controller. LiveBallot sets payload_of. Ranks above 0 need only the
  /// configuration.
  LiveControllerOptions tuning = {};
  /// The knobs that the job declares. A configuration from the daemon gets their defaults where it
  /// has no values for them.
  std::vector<DeclaredKnob> declared = {};
  /// Order of the collectives under `tuning.config`, if that is order=static.
  std::vector<std::uint32_t> static_order = {};
  /// Rank 0's number for the first step, as used in iteration() and in messages.
  std::int64_t first_step = 0;
  /// Rank 0: returns the order of a step's collectives for a configuration with order=static.
  /// Without it no configuration with that order is tried. May take long; the other ranks continue
  /// until they need rank 0.
  std::function<Result<std::vector<std::uint32_t>>(const ScheduleConfig&)> static_order_of = {};
  /// Checks that this rank can run with a valid configuration. Called from any thread.
  std::function<Result<void>(const ScheduleConfig&)> accept = {};
  /// Called on every rank when `steps` steps from `first_step` on are to be profiled: once per
  /// order, from step_ended(), before the first of these steps begins. Steps count from 0 at the
  /// ballot's first step, as in a scheduler. If empty on rank 0, requests for profiles are ignored.
  std::function<void(std::int64_t first_step, std::int64_t steps)> on_profile = {};
  /// The caller brings changes to the other ranks itself. There are no ballots to sum, and a change
  /// takes effect with the next step. Requires rank 0. It is asked for a profile as soon as one is
  /// wanted, whatever is being tried.
  bool decides_alone = false;
};

class LiveBallot {
 public:
  /// Steps that may be submitted before a ballot is read.
  static constexpr int kStepsAhead = 1;

  /// `link` is used on rank 0 only and may be null; then nothing is tried. Requires that `link` and
  /// `clock` outlive this object.
  LiveBallot(LiveBallotOptions options, int rank, int world_size, DaemonLink* link,
             const Clock& clock);

  /// Returns the number of floats in a ballot; equal on all ranks. 0 if there are no ballots.
  std::size_t size() const {
    return options_.decides_alone ? 0 : agreement_.slots() + counters_.slots();
  }
  static std::size_t size_for(int world_size) {
    return SwitchAgreement::slots_for(world_size) + CounterExchange::slots_for(world_size);
  }
  /// Writes this rank's contribution to the next ballot: size() floats.
  void fill(std::span<float> ballot);
  /// Reads the ballot summed over the ranks.
  void read(std::span<const float> sum);

  /// Advances the tuning after a step was submitted. Returns the setting from the next step on if
  /// it changes; it changes at the same step on every rank. Requires that all ballots except the
  /// last have been read.
  std::optional<LiveSetting> step_ended();

  /// Reports the time of a step on rank 0; ignored elsewhere. Steps must be reported in order,
  /// starting once the job is warm. `activity`: how the step spent that time, if the job measures
  /// it.
  void iteration(std::int64_t step, std::int64_t wall_ns,
                 const std::optional<JobActivity>& activity = {});

  /// Keeps what this rank counted in a step, for rank 0's reports, which say it of all ranks
  /// (client/live/counter_exchange.h). Steps are as in iteration(); one that is known more
  /// than two steps late is lost. What the kernel counts (ProcessUse) is added here. Does nothing
  /// without ballots.
  void counted(std::int64_t step, RankCounters counters);
  /// Adds what all ranks counted to the next report, without ballots on rank 0.
  void ranks_counted(CountedSteps counted);

  /// Sends the last report. Call when the job ends, after all ballots have been read.
  void finish();

  /// Returns the configuration of the next step.
  const ScheduleConfig& running() const { return running_; }
  /// Rank 0: the current configuration, and the share of the training time that exploration has
  /// cost.
  const ScheduleConfig& config() const { return controller_ ? controller_->config() : running_; }
  double explored() const { return controller_ ? controller_->explored() : 0; }
  bool decides_alone() const { return options_.decides_alone; }
  /// Rank 0: returns how the job does; nothing before that is known, and without a link.
  std::optional<JobProgress> progress() const;
  bool is_trying() const { return controller_ && controller_->is_trying(); }
  /// Rank 0: adds what the job has measured itself to the next reports. Returns false if there are
  /// too many names.
  bool measured(const std::string& name, double value);
  void note(const std::string& text);
  /// Rank 0: says how many steps the program has ended, where several of them share a ballot.
  void program_step(std::int64_t step);

 private:
  static Result<LiveSetting> parse(const std::string& payload);
  Result<void> accept(const std::string& payload) const;
  Result<std::string> payload_of(const ScheduleConfig& config) const;
  void tune();
  std::optional<SwitchAgreement::Configuration> decide_alone();
  void send_report();

  const LiveBallotOptions options_;
  DaemonLink* const link_;
  const Clock& clock_;
  ScheduleConfig running_;
  std::int64_t steps_ = 0;    // number of ended steps
  std::int64_t ballots_ = 0;  // number of calls of decide_alone()
  /// First step of each configuration that ran, with the configuration's id.
  std::deque<std::pair<std::int64_t, int>> ran_;
  // Configuration and version last passed to the link.
  std::pair<ScheduleConfig, std::int64_t> told_;
  // Order last passed to on_profile.
  std::optional<ProfileOrder> told_profile_;
  std::optional<ProfileMessage> wanted_profile_;  // profile wanted by a rank that decides alone
  ProcessMeter process_;
  /// The processes' use in the latest steps, by step.
  std::deque<std::pair<std::int64_t, ProcessUse>> process_use_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  SwitchAgreement agreement_;
  CounterExchange counters_;
  std::optional<LiveController> controller_;  // present only on rank 0 with a link
};

}  // namespace hocket
