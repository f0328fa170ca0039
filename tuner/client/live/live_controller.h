#pragma once

// Rank 0's side of live tuning: what the daemon sends becomes an attempt, which the ranks agree on,
// a window measures, and a verdict keeps or ends. One attempt at a time. A pure state machine: time
// is passed in, messages and reports are values. Not thread-safe.
//
// A pushed configuration comes before a candidate, ends an attempt that is under way when it
// arrives, and is kept unless it is slower beyond the noise. A candidate waits for the budget, and
// is kept only when it is faster beyond the noise. What was slower is remembered, and rejected when
// it comes again, unless in a version that came after that, or when the job's iterations take
// another time by then: on a link that has changed it may be the better one.
//
// A request for a profile waits for the attempt under way, and candidates for the profile. A push
// does not: it may be urgent.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/job_message.h"
#include "core/step/schedule_config.h"
#include "tuner/client/live/ab_window.h"
#include "tuner/client/live/activity_sum.h"
#include "tuner/client/live/exploration_budget.h"
#include "tuner/client/live/profile_turn.h"
#include "tuner/client/live/switch_agreement.h"

namespace hocket {

struct LiveControllerOptions {
  std::string job = {};        ///< JobDescription::id
  ScheduleConfig config = {};  ///< what the job starts with
  std::int64_t version = 0;    ///< of `config`, 0: not one of the daemon's
  double explore = 0;          ///< share of the training time that candidates may cost
  WindowOptions window = {};
  /// Within which every rank must have accepted.
  std::int64_t agreement_ns = 30'000'000'000;
  /// Iterations of one report.
  std::size_t report_iterations = 20;
  /// Whether the job can be profiled while it trains.
  bool can_profile = false;
  /// What people call the agreement's first step.
  std::int64_t first_step = 0;
  /// What the agreement carries for a configuration, or why the job cannot run with it.
  std::function<Result<std::string>(const ScheduleConfig&)> payload_of = {};
  /// Receives a line for people at each change.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class LiveController {
 public:
  /// `agreement` is rank 0's, and outlives the controller.
  LiveController(LiveControllerOptions options, SwitchAgreement& agreement);

  void receive(const DaemonMessage& message);
  /// What step `step` took, under the configuration `id` of the agreement; of steps in turn, from
  /// where the job is warm. `under_way`: how many later ones run with what runs now, at least.
  /// `activity`: how it spent that time, where the job measures it.
  void iteration(std::int64_t step, int id, std::int64_t iteration_ns, int under_way,
                 const std::optional<JobActivity>& activity = {});
  /// Goes on with what the agreement and the measurements have brought; between steps.
  void advance(std::int64_t now_ns);
  /// The job ends: what was not decided is reported as such.
  void finish();

  /// What there is to tell the daemon, when it is enough for a report.
  std::optional<JobReport> take_report();

  /// What the job keeps to, whatever runs at the moment.
  const ScheduleConfig& config() const { return current_.config; }
  std::int64_t version() const { return current_.version; }
  /// Share of the training time that trying has cost.
  double explored() const { return budget_.spent(); }

 private:
  struct Current {
    int id = 0;
    ScheduleConfig config;
    std::int64_t version = 0;
  };
  /// A message that asks for `config`.
  struct Wish {
    ScheduleConfig config;
    std::optional<std::int64_t> version = {}, trial = {};
    std::string name;  ///< "version 12 (study gpt2-3)", "trial 4"
  };
  struct Attempt {
    Wish wish;
    int id = 0;
    std::int64_t asked_ns = 0;
    std::optional<Window> window = {};  ///< once it is agreed
  };
  struct Quarantined {
    ScheduleConfig config;
    std::int64_t newest_version = 0;  ///< later ones may try it again
    double usual_ns = 0;              ///< what it was slower than
  };

  void receive_push(Wish wish);
  void receive_candidate(Wish wish);
  void receive_profile(const ProfileMessage& message);
  /// Why `wish` is not to be tried.
  std::optional<std::string> objection(const Wish& wish) const;
  /// Whether enough was measured to compare with.
  bool is_warm() const;
  void start_next(std::int64_t now_ns);
  void start(Wish wish, std::int64_t now_ns);
  void await_agreement(std::int64_t now_ns);
  void begin_window();
  void reject(const Wish& wish, const std::string& why);
  /// Whether the attempt's configuration has run and was measured.
  bool has_measured() const;
  /// Ends the attempt without keeping it.
  void end_attempt(const std::string& why);
  void keep(const WindowVerdict& verdict);
  void take_over(const Wish& wish, int id);
  void add_outcome(const Wish& wish, ChangeStatus status, const std::string& message);
  void count_cost(int id, std::int64_t iteration_ns, bool settled);
  double usual_ns() const;
  std::string changes_to(const ScheduleConfig& config) const;
  void say(const std::string& text) const;

  const LiveControllerOptions options_;
  SwitchAgreement& agreement_;
  ExplorationBudget budget_;
  Current current_;
  std::optional<Wish> push_, candidate_;  // waiting
  std::optional<Attempt> attempt_;
  ProfileTurn profiles_;
  std::vector<Quarantined> quarantine_;
  std::set<int> tried_;  // ids under which time is a cost: tried, and not kept
  std::int64_t newest_version_ = 0;
  // Of the iterations so far:
  std::deque<std::int64_t> recent_ns_;  // under current_, settled; at most Window::kMostRecent
  std::optional<int> last_id_;
  int since_switch_ = 0;
  std::int64_t step_ = 0;
  // For the next report:
  std::vector<std::int64_t> unreported_ns_;
  ActivitySum unreported_activity_;
  std::vector<ChangeOutcome> outcomes_;
  bool finished_ = false;  ///< and the last report was not taken
};

}  // namespace hocket
