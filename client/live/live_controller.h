#pragma once

// Rank 0's side of live tuning. A message from the daemon becomes an attempt: the ranks agree on
// its configuration, a window measures it, and the verdict keeps it or ends the attempt. Only one
// attempt runs at a time. A pure state machine: time is passed in, messages and reports are values.
// Not thread-safe.
//
// A pushed configuration has precedence over a candidate, ends an attempt that is under way when it
// arrives, and is kept unless it is slower beyond the noise; one that an operator decided on is
// taken without being measured. A candidate waits for the exploration budget and is kept only if it
// is faster beyond the noise. A configuration that was slower is remembered and rejected when it is
// sent again, unless it comes in a later version or the usual iteration time has changed since: on
// a link that has changed it may be the faster one.
//
// A request for a profile waits for the current attempt, and candidates wait for the profile. A
// push does not wait for a profile, because it may be urgent.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/live/ab_window.h"
#include "client/live/activity_sum.h"
#include "client/live/exploration_budget.h"
#include "client/live/job_progress.h"
#include "client/live/profile_turn.h"
#include "client/live/switch_agreement.h"
#include "core/base/result.h"
#include "core/protocol/job_message.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct LiveControllerOptions {
  std::string job = {};        ///< JobDescription::id
  ScheduleConfig config = {};  ///< initial configuration of the job
  std::int64_t version = 0;    ///< version of `config`; 0 if it is not from the daemon
  double explore = 0;          ///< exploration budget as a share of the training time
  AbWindowOptions window = {};
  /// Time within which every rank must accept a configuration.
  std::int64_t agreement_ns = 30'000'000'000;
  /// Number of iterations after which a report is due.
  std::size_t report_iterations = 20;
  /// True if the job can be profiled while it trains.
  bool can_profile = false;
  /// Number that messages to the user give the agreement's first step.
  std::int64_t first_step = 0;
  /// Returns the payload that the agreement carries for a configuration, or the reason why the job
  /// cannot run with it.
  std::function<Result<std::string>(const ScheduleConfig&)> payload_of = {};
  /// Asked before an attempt that is measured; false: later. Empty: always.
  std::function<bool()> may_try = {};
  /// Called with one line for the user at each change.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class LiveController {
 public:
  /// `agreement` is rank 0's; it must outlive the controller.
  LiveController(LiveControllerOptions options, SwitchAgreement& agreement);

  void receive(const DaemonMessage& message);
  /// Adds the time of step `step`, which ran under the agreement's configuration `id`. Steps must
  /// be added in order, starting once the job is warm. `under_way`: minimum number of later steps
  /// that run with the configuration that runs now. `activity`: how the step spent its time, if the
  /// job measures it.
  void iteration(std::int64_t step, int id, std::int64_t iteration_ns, int under_way,
                 const std::optional<JobActivity>& activity = {});
  /// Advances according to the agreement and the measurements. Call between steps.
  void advance(std::int64_t now_ns);
  /// Ends the tuning when the job ends. Whatever is undecided is reported as rejected or rolled
  /// back. Says in one line what came of the tuning, unless it was none.
  void finish();

  /// Returns the next report for the daemon once there is enough for one.
  std::optional<JobReport> take_report();

  /// The current configuration; differs from the running one while a candidate is measured.
  const ScheduleConfig& config() const { return current_.config; }
  std::int64_t version() const { return current_.version; }
  /// Returns whether there is an attempt, from the agreement on it to its verdict.
  bool is_trying() const { return attempt_.has_value(); }
  /// Set what reports say of the job beside its iterations, see JobReport. False: too many names.
  bool measured(const std::string& name, double value) {
    if (values_.size() == kMaxReportedValues && !values_.contains(name)) return false;
    values_[name] = value;
    return true;
  }
  void note(const std::string& text) { note_ = text; }
  /// Sets the number that lines, reports and progress() give the present step from now on, for a
  /// program of whose steps several share a ballot.
  void program_step(std::int64_t step) { program_step_ = step; }
  /// Adds what the ranks counted to the next report, which says the latest of it.
  void counted(CountedSteps counted);
  /// Returns the share of the training time that exploration has cost.
  double explored() const { return budget_.spent(); }
  /// Returns how the job does; nothing before its iteration time is known.
  std::optional<JobProgress> progress() const;

 private:
  struct Current {
    int id = 0;
    ScheduleConfig config;
    std::int64_t version = 0;
  };
  /// Configuration requested by a message.
  struct Wish {
    ScheduleConfig config;
    std::optional<std::int64_t> version = {}, trial = {};
    std::string name;      ///< "version 12 (study gpt2-3)", "trial 4"
    bool at_once = false;  ///< taken without a window
  };
  struct Attempt {
    Wish wish;
    int id = 0;
    std::int64_t asked_ns = 0;
    std::optional<AbWindow> window = {};  ///< set once the ranks have agreed
  };
  struct Quarantined {
    ScheduleConfig config;
    /// newest version at that time; later versions may try it again
    std::int64_t newest_version = 0;
    double usual_ns = 0;  ///< usual iteration time at that time
  };

  void receive_push(Wish wish);
  void receive_candidate(Wish wish);
  void receive_profile(const ProfileMessage& message);
  /// Returns why `wish` must not be tried; nothing if it may be.
  std::optional<std::string> objection(const Wish& wish) const;
  /// Returns whether enough iterations were measured for a comparison.
  bool is_warm() const;
  void start_next(std::int64_t now_ns);
  void start(Wish wish, std::int64_t now_ns);
  void await_agreement(std::int64_t now_ns);
  void begin_window();
  /// Takes the attempt's configuration without measuring it.
  void take_at_once();
  void reject(const Wish& wish, const std::string& why);
  /// Returns whether iterations under the attempt's configuration were measured.
  bool has_measured() const;
  /// Ends the attempt and returns to the current configuration.
  void end_attempt(const std::string& why);
  void keep(const AbWindowVerdict& verdict);
  void take_over(const Wish& wish, int id);
  void add_outcome(const Wish& wish, ChangeStatus status, const std::string& message);
  void count_cost(int id, std::int64_t iteration_ns, bool settled);
  double usual_ns() const;
  std::int64_t shown_step() const { return program_step_.value_or(step_); }
  /// Returns what came of the tuning: "nothing was tried: …", or "settled on …: iteration 52.3 ms
  /// -> 48.1 ms, …". The times are medians over iterations under the first and the last
  /// configuration alone.
  std::string summary(const std::string& why_nothing) const;
  std::string why_nothing_was_tried() const;
  void say(const std::string& text) const;

  const LiveControllerOptions options_;
  SwitchAgreement& agreement_;
  ExplorationBudget budget_;
  Current current_;
  std::optional<Wish> push_, candidate_;  // waiting
  std::optional<Attempt> attempt_;
  ProfileTurn profiles_;
  std::vector<Quarantined> quarantine_;
  // Ids of configurations that were tried and not kept; time under them counts as exploration cost.
  std::set<int> tried_;
  std::int64_t newest_version_ = 0;
  // Iterations so far:
  // Settled iterations under current_; at most AbWindow::kMostRecent.
  std::deque<std::int64_t> recent_ns_;
  std::deque<std::int64_t> calm_ns_;  ///< iterations in a row before the first window
  std::vector<double> noise_;         ///< of the windows so far, or of calm_ns_
  std::size_t iterations_ = 0;
  std::optional<int> last_id_;
  int since_switch_ = 0;
  std::int64_t step_ = 0;
  std::optional<std::int64_t> program_step_;
  // Attempts so far, and messages that were refused before anything was tried.
  int tried_count_ = 0, kept_count_ = 0, left_out_ = 0;
  double first_usual_ns_ = 0;  ///< usual time before the first attempt; 0 until there is one
  // For the next report:
  std::vector<std::int64_t> unreported_ns_;
  ActivitySum unreported_activity_;
  std::vector<ChangeOutcome> outcomes_;
  std::map<std::string, double> values_;
  std::string note_;
  std::deque<CountedSteps> counted_;
  std::size_t counted_ranks_ = 0;  ///< number of ranks in all of counted_
  /// The latest under current_, for progress(); at most kMostRecentCounted.
  std::deque<CountedSteps> recent_counted_;
  bool ends_ = false;
  bool finished_ = false;  ///< the job has ended and the last report was not taken yet
};

}  // namespace hocket
