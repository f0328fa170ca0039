#pragma once

// Rank 0's control of a communicator: finds iterations in its calls, opens a job for each class of
// collectives that matters, passes the iterations' times to the jobs, and brings the ranks to what
// the jobs want. Time is passed in and the ranks are behind a seam, so that tests need no thread.
// One thread.
//
// One job tries at a time, since all are judged by the same iterations. While it does, it alone is
// told of iterations, and of those alone that ran wholly with what it wants; otherwise all are.
//
// A trial is proposed with its end: after some iterations all ranks return to what was in
// force, whatever happens to the links or to rank 0's control. The first such block of a choice is
// short, so that a bad one costs little; each further block is twice as long, up to kMostTried.
// What a job keeps is proposed for good.
//
// First, PluginGuard compares iterations with and without events. Until it has, nothing else is
// proposed. The ranks agree to switch the plugin off for good, and the jobs end, as soon as it
// finds that the plugin's presence slows the job.
//
// A loop without repeating calls has no iterations. There, a class is judged by the times of its
// collectives on the GPU (CollectiveTimes), kCollectivesPerStep of which count as one iteration.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/nccl/agreement/arbiter.h"
#include "plugins/nccl/control/call_log.h"
#include "plugins/nccl/control/collective_times.h"
#include "plugins/nccl/control/job_client.h"
#include "plugins/nccl/control/plugin_guard.h"
#include "plugins/nccl/control/table_board.h"
#include "plugins/nccl/tuning/period.h"
#include "plugins/nccl/tuning/setting.h"

namespace hocket::nccl {

/// The ranks' agreement, as rank 0 sees it (communicator/rank_agreement.h).
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual Proposed propose(const Schedule& schedule) = 0;
  virtual Outcome outcome() = 0;
  /// Why nothing will ever be proposed again: "" unless frozen.
  virtual std::string frozen() = 0;
  virtual std::vector<Arbiter::RankStatistics> take_statistics() = 0;
};

struct ControlOptions {
  int ranks = 0, nodes = 0;
  double explore = 0.03;
  /// Classes whose bits depend on the choice are left to NCCL.
  bool is_reproducible = false;
  /// All algorithms that NCCL allows, not only Ring and Tree.
  bool all_arms = false;
  bool has_profiler = false;
  /// Compares what NCCL's reports cost, and steps back if they slow the job.
  bool steps_back = true;
  /// Returns the share of its time that the plugin costs this rank, in percent (JobClient::costs);
  /// below 0: not known yet.
  std::function<double()> own_cost_percent = [] { return -1.0; };
  /// Called with what a user wants to know.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class Control {
 public:
  static constexpr std::size_t kMostClasses = 8;
  /// Classes with a smaller share of an iteration's predicted communication are left to NCCL.
  static constexpr double kLeastShare = 0.02;
  static constexpr std::uint64_t kFirstTried = 4, kMostTried = 12;  ///< iterations of a block
  /// The host runs ahead of the GPU: what is enqueued for so long after a gate may still wait for
  /// what ran before it.
  static constexpr std::int64_t kDrainNs = 50'000'000;
  /// Iterations between a kept choice and the next try: a window compares with those before it.
  static constexpr int kIterationsBefore = 24;
  /// Iterations of another kind after which the jobs are opened anew for it.
  static constexpr int kOfOtherKind = 50;
  /// Calls without a period after which classes are judged by their collectives.
  static constexpr std::uint64_t kCallsWithoutPeriod = 2000;
  static constexpr std::int64_t kMeasureEveryNs = 60'000'000'000, kMeasureNs = 1'000'000'000;
  static constexpr std::int64_t kTellCostEveryNs = 1'000'000'000;
  static constexpr std::size_t kCollectivesPerStep = 4;
  static constexpr std::int64_t kMostProfiled = 200;  ///< iterations, of those measured together
  static constexpr std::int64_t kRetryNs = 1'000'000'000;

  /// All must outlive the control.
  Control(ControlOptions options, Ranks& ranks, TableBoard& tables, JobClients& clients);

  /// Adds calls that were made, in order.
  void add_call(const LoggedCall& call);
  /// Does what is due: takes over what the ranks have agreed on, opens jobs, proposes. Call it
  /// after the calls of up to now were added, at least every few tens of milliseconds.
  void advance(std::int64_t now_ns);

  /// The setting that is in force, as far as is known.
  const Setting& in_force() const { return timeline_.back().setting; }
  bool has_jobs() const { return !jobs_.empty(); }
  /// Returns whether the plugin is off on all ranks: nothing is left to do.
  bool is_off() const { return in_force().is_off; }

 private:
  struct InForce {
    std::uint64_t first_call = 0;
    Setting setting;
    std::int64_t began_ns = -1;  ///< begin of its first iteration; -1: none seen yet
  };
  struct Job {
    CollectiveClass of;
    std::unique_ptr<JobClient> client;
    std::uint64_t calls = 0;                  ///< calls of an iteration, or those seen so far
    std::vector<std::int64_t> times_ns = {};  ///< times since the last whole step
  };
  /// A proposal that is not decided yet.
  struct Pending {
    std::uint64_t version = 0;
    std::vector<std::uint64_t> calls;  ///< calls that are the gates
    std::vector<Setting> settings;     ///< settings that the gates put in force
    std::size_t gone = 0;
    std::uint64_t block = 0;  ///< iterations, of a try
  };
  using CallsByClass = std::map<int, std::uint64_t>;

  void learn_outcome(std::int64_t now_ns);
  void choose_classes(const CallsByClass& calls);
  void open(const CollectiveClass& of, std::uint64_t calls, double explore);
  void pass(const CallIteration& iteration);
  void pass_collectives(std::int64_t now_ns);
  void end_step(std::int64_t iteration_ns);
  void after_step();
  InForce* in_force_throughout(const CallIteration& iteration);
  const Job* trying() const;
  bool may_try() const;
  /// Returns whether choices other than NCCL's may be proposed: at gates whose digests have the
  /// launches.
  bool may_choose() const;
  Setting chosen() const;
  Setting wanted() const;
  Events wanted_events() const;
  bool runs_as_wanted() const;
  void take_statistics();
  void step_back(std::int64_t now_ns);
  bool is_frozen();
  void propose(std::int64_t now_ns);
  void propose_block(const Setting& tried, std::int64_t now_ns);
  void propose_measuring(std::int64_t now_ns);
  /// Proposes the first setting, and the return to the second one if there is one.
  void offer(std::vector<Setting> settings, std::uint64_t return_after_calls, std::int64_t now_ns);
  std::uint64_t calls_per_step() const;
  void tell_measured(std::int64_t now_ns);
  void tell_cost(std::int64_t now_ns);
  std::int64_t take_profile_request();
  void save_profile(const std::vector<measure::RankCollectives>& collectives);

  const ControlOptions options_;
  Ranks& ranks_;
  TableBoard& tables_;
  JobClients& clients_;

  // The calls:
  PeriodFinder finder_;
  std::uint64_t calls_ = 0, calls_without_period_ = 0;
  std::int64_t first_call_ns_ = 0, last_call_ns_ = 0;
  CallsByClass current_calls_, iteration_calls_;
  std::deque<CallIteration> iterations_;
  std::int64_t iteration_ns_ = 0;  ///< time of a single iteration among those joined last
  std::int64_t periods_ = 1;       ///< number of periods joined into an iteration
  std::uint64_t kind_ = 0;         ///< kind of the iterations that the jobs tune
  int of_other_kind_ = 0;          ///< iterations of another kind in a row

  // The jobs:
  std::vector<Job> jobs_;
  bool has_chosen_ = false;
  /// Judges by collectives, since the calls do not repeat.
  bool judges_collectives_ = false;
  Setting settled_;                           ///< chosen by the jobs while none tries a candidate
  int plain_iterations_ = kIterationsBefore;  ///< iterations since a choice was kept
  Setting tried_;
  std::uint64_t block_ = 0;  ///< iterations of the last block of `tried_`

  // The ranks:
  std::deque<InForce> timeline_{InForce{}};
  std::optional<Pending> pending_;
  std::int64_t not_before_ns_ = 0;
  std::int64_t changed_ns_ = 0;  ///< time at which a gate was last seen to have passed
  bool has_said_frozen_ = false;

  PluginGuard guard_;
  bool steps_back_ = false;  ///< the plugin is to be off
  bool has_said_timing_cost_ = false;

  // The collectives' times:
  CollectiveTimes times_;
  std::int64_t measure_at_ns_ = 0, tell_at_ns_ = 0;
  std::int64_t tell_cost_at_ns_ = 0;
  /// Iterations that are measured for a profile, which the class's job has asked for; 0: none.
  std::int64_t profiled_iterations_ = 0;
  std::int64_t wanted_iterations_ = 0;  ///< length of a profile that has not begun
  CollectiveClass profiled_class_;
};

}  // namespace hocket::nccl
