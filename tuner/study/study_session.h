#pragma once

// The search of a study: decides what to try next and when to stop, for any runner of its trials:
// `hocket tune` (tuner/study/study.h), workers of a daemon, or jobs that are measured while they
// train (daemon/). Owns the Search. Pure: no clock, no store, no thread. One thread at a
// time.
//
// Invariants:
// 1. Equal options and an equal order of calls give equal answers. A session that was made from the
//    stored trials of another goes on as that one would.
// 2. A setting is either outstanding, told or neither; none is asked while it is one of the two.
// 3. Told and outstanding trials together never exceed the budget, unless the caller tells more.
// 4. Once the search has ended it stays ended.
//
// The order of what is asked: settings whose run was lost, settings that the caller prefers, what
// the search asks for. The last trial of the budget is of the setting that the search recommends if
// that was not tried. The search ends with its budget, with its space, or, once kLeastTrials were
// told, by a rule of tuner/search/stop_rule.h. With several objectives no rule ends it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"
#include "tuner/study/study_definition.h"
#include "tuner/trial/trial.h"

namespace hocket {

/// No rule ends a search before this many trials.
inline constexpr int kLeastTrials = 6;

struct SessionOptions {
  Space space;
  SearchOptions search = {};
  std::int64_t trials = 30;  ///< trials of the search, including the default; at least 1
  bool stop_early = false;   ///< by the rules of tuner/search/stop_rule.h
  std::int64_t least_trials = kLeastTrials;  ///< before these rules apply
  /// Directions of the objectives, in order; those without one are minimised. Trials are told as
  /// they were measured; the search is told their costs.
  std::vector<Direction> directions = {};
};

/// Says whether the simulator is the model of a study's search, where the space has knobs that it
/// knows (tuner/surrogate/step_surrogate.h). Depends on the definition alone, so that a study
/// searches the same way whoever runs it.
///
/// The simulator models the time of an iteration, which `report` measures; `auto` becomes `report`
/// or `wall`, which must not change the model in the middle of a study. The wall time of a command
/// that trains, and what a pattern or a file says of it, rise and fall with that time in most jobs;
/// where they do not, the process about the simulator learns the difference, and a value that is
/// not above 0 ends the simulation (tuner/search/optimizer.h). Only a peak of memory, and what is
/// maximised, is not a time at all. Several objectives are weighed anew for each trial, which
/// leaves no time to simulate.
bool uses_simulator(const StudyDefinition& definition);

/// Returns what the search of a study starts from, with the donor that the definition holds.
SessionOptions session_options(const StudyDefinition& definition);

/// Returns what a search is told of a trial: the costs of its values; without directions the values
/// as measured. Where the outcome has samples of a reference (kReferenceMetric), their error adds
/// to that of the value.
Evaluation evaluation_of(const Params& params, const TrialOutcome& outcome,
                         std::span<const Direction> directions = {});

/// Returns the directions of a definition's objectives, in order.
std::vector<Direction> directions_of(const StudyDefinition& definition);

enum class AskKind {
  search,       ///< the search asked for it
  recommended,  ///< the last trial of the budget tries what is recommended
  preferred,    ///< the caller asked for it by prefer()
  again,        ///< it is asked again because its run was lost
  given,        ///< a past trial, which nobody asked for
};

enum class SessionEnd { none, trials, space, rule };

/// The answer to ask().
struct SessionNext {
  std::optional<Params> params = {};  ///< nothing: there is none to run now
  AskKind kind = AskKind::search;
  std::string reason = {};  ///< why these params, or why none; one line
  bool is_over = false;     ///< no later ask gives any, and nothing is outstanding
};

class StudySession {
 public:
  using IsExcluded = std::function<bool(const Params&)>;
  /// Called with each past trial and what the session asks for in its place now.
  using OnReplayed = std::function<void(const Trial&, const SessionNext&)>;

  /// Makes a session that has been through `past`, the trials of a search in order of numbers, of
  /// which those that run are outstanding. Equal asks, tells and
  /// losses of trials are assumed as far as `past` shows them: of a lost trial there is only the
  /// gap that its number leaves, and what is asked for there and not found in `past` is asked
  /// again.
  ///
  /// invalid_argument for a space of one point, fewer than 1 trial, what make_search() refuses, or
  /// a trial of `past` that the space or the search refuses, with its number.
  static Result<StudySession> make(SessionOptions options, std::span<const Trial> past = {},
                                   const OnReplayed& on_replayed = {});

  /// Returns the next setting to run, which is outstanding from now on. Settings that `is_excluded`
  /// are passed over for good. Several may be outstanding.
  SessionNext ask(const IsExcluded& is_excluded = {});

  /// Takes how a trial ended, asked or not; a setting may be told several times. invalid_argument
  /// for params outside the space or values that are not finite; then nothing has changed.
  Result<void> tell(const Params& params, const TrialOutcome& outcome);

  /// The run of an outstanding setting was lost: it is asked again before any other.
  void give_back(const Params& params);

  /// An outstanding setting is not run, and not asked again.
  void withdraw(const Params& params);

  /// Settings to ask before what the search asks for; those that the space does not admit, or that
  /// were told, are passed over.
  void prefer(std::vector<Params> params);

  /// Starts the search again from an earlier study. Requires that only the default was told and
  /// nothing is outstanding. invalid_argument for a donor that make_search() refuses.
  Result<void> start_from(Donor donor);

  /// Returns a setting that was told at most twice, and may still be better than `value` by
  /// `least_gain`, as a share, as far as its errors say; the one expected to be the best. Nothing
  /// if there is none. To be told again, once the search has ended.
  std::optional<Params> worth_another_look(double value, double least_gain,
                                           const IsExcluded& is_excluded) const;

  const Space& space() const { return options_.space; }
  std::size_t told() const { return evaluations_.size(); }
  std::size_t outstanding() const { return outstanding_.size(); }

  std::span<const Direction> directions() const { return options_.directions; }

  /// The place of the lowest cost among the trials told, the earliest of equals; nothing while
  /// none has completed.
  std::optional<std::size_t> best() const { return best_; }

  /// The setting that the search would choose now, with the value that it expects as trials are
  /// told; nothing before the first value.
  std::optional<Recommendation> recommend() const;

  SessionEnd end() const { return end_; }
  /// Why the search has ended; empty while it has not.
  const std::string& end_reason() const { return end_reason_; }

 private:
  StudySession(SessionOptions options, std::unique_ptr<Search> search);

  Result<void> replay(std::span<const Trial> past, const OnReplayed& on_replayed);
  /// Asks for `params` as at the time when `lost_before` trials were asked for in front of them
  /// whose runs were lost.
  SessionNext ask_again(const Params& params, std::int64_t lost_before);
  SessionNext search_again(const Params& params, std::int64_t lost_before);

  bool is_known(const Params& params) const;
  bool is_last() const;
  /// The recommendation, if it is due and was not tried.
  std::optional<Recommendation> due_recommendation() const;
  std::optional<SessionNext> first_of(std::deque<Params>& queue, AskKind kind, const char* reason,
                                      const IsExcluded& is_excluded);
  std::optional<SessionNext> next_of_search(const IsExcluded& is_excluded);
  SessionNext hand_out(Params params, AskKind kind, std::string reason);
  void note_best(const TrialOutcome& outcome);
  void look_for_end();
  void finish(SessionEnd end, std::string reason);

  SessionOptions options_;
  std::unique_ptr<Search> search_;
  std::set<Params> outstanding_, told_;
  std::vector<Evaluation> evaluations_;  ///< in the order of telling
  std::deque<Params> lost_;              ///< lost settings, which are asked again
  std::deque<Params> preferred_;
  std::deque<Params> spare_;  ///< asked again once the search has nothing left
  std::vector<double> expected_improvements_;
  std::vector<double> noises_;  ///< noise of each trial that tells it, as a share of its value
  std::optional<std::size_t> best_;
  std::optional<double> exposed_of_best_;
  SessionEnd end_ = SessionEnd::none;
  std::string end_reason_;
};

}  // namespace hocket
