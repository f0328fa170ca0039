#pragma once

// One study: search, confirm, decide. Its trials are run by a crew (tuner/study/trial_crew.h).
// Deterministic: what is run next depends on the options, on the outcomes so far and on what else
// was running, never on a clock. One thread at a time.
//
// The search is a StudySession (tuner/study/study_session.h). Its first trial is the default and
// runs alone: it says what the job is, and whether it works. Then as many trials run side by side
// as the crew has places for. The winner is the setting that is recommended in the end if its trial
// completed, else the best that was measured; one that was measured better than it by more than the
// noise is its rival. Winner and default then run again in pairs, in the
// order default, winner, winner, default, default, …, a rival beside the winner, until the rule of
// core/protocol/promotion_rule.h has decided, and at most `confirm_pairs` times each. The better of
// winner and rival in these runs is recommended. Confirmation
// runs run one at a time, so that they do not disturb one another, and a pair counts only if one
// worker ran both of its runs. When the default failed in the search, the winner runs alone, twice,
// and is promoted when both runs complete. A confirmation run that does not complete ends the
// confirmation, and nothing is promoted.
//
// With several objectives the search is for their Pareto front, whose points are confirmed
// (tuner/study/front_confirmation.h). The study cannot decide between trade-offs: nothing is
// promoted, and trials run to their end, as one with a bad first objective may be on the front.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/promotion_rule.h"
#include "tuner/search/search.h"
#include "tuner/study/study_definition.h"
#include "tuner/study/study_session.h"
#include "tuner/study/trial_crew.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

struct StudyOptions {
  SessionOptions session;  ///< no donor counts with several objectives
  int confirm_pairs = 5;   ///< limit; with fewer than 2 a default that works is never replaced
  /// A trial may deliver fewer measurements than the default (tuner/study/few_measurements.h).
  bool allows_fewer = false;
  bool end_trials_early = false;  ///< ends hopeless trials of the search (tuner/trial/early_end.h)
  /// Ends the search after its first trial, which is of the default, when that does not complete.
  bool needs_default = false;
  /// Why the search of a resumed study had ended before its trials; it does not go on. May be
  /// empty.
  std::string stopped = {};
  bool default_is_assumed = false;  ///< the default was assumed; used in texts only
  /// The winner has a rival where another setting was measured better.
  bool compares_measured = false;
  /// Called for a donor when the first trial, which says what the job is, has finished and no other
  /// has. May be empty. When the study is resumed, `session` must have the donor that it returned.
  std::function<Result<std::optional<Donor>>(const Trial& first)> find_donor = {};
  /// Asked before each trial but the first: returns why there is no time for one of this phase,
  /// which ends the search, or the study with `timed_out`; empty if there is. May be empty.
  std::function<std::string(TrialPhase phase)> why_no_time = {};
};

/// Returns how a study is run, except for how it finds a donor.
StudyOptions study_options(const StudyDefinition& definition);

/// Is told of every event as it happens, to keep it. An error ends the study with that error.
class StudyObserver {
 public:
  virtual ~StudyObserver() = default;
  virtual Result<void> trial_started(std::int64_t number, TrialPhase phase,
                                     const Params& params) = 0;
  virtual Result<void> trial_finished(const Trial& trial) = 0;
  /// The search has ended before its trials were used up. Not called again for a resumed study that
  /// knows the reason (StudyOptions::stopped).
  virtual Result<void> search_stopped(const std::string& reason) = 0;
};

/// A setting and its measurements.
struct MeasuredParams {
  Params params;
  /// Median over its confirmation runs where there are any, else its value in the search; nothing
  /// when it never completed.
  std::optional<double> value;
  /// Half interquartile range over the same runs; within the run when it is one.
  double spread = 0;
  /// Values of further objectives: medians over the runs of a front, else those of the search.
  std::vector<double> others = {};
  std::vector<double> other_spreads = {};  ///< over the same runs; empty with one objective

  bool operator==(const MeasuredParams&) const = default;
};

/// Limit on the points of a front that run again.
inline constexpr int kMostFrontPoints = 4;

/// The result of running a point of a front again (tuner/study/front_confirmation.h).
enum class FrontState {
  searched,     ///< measured in the search alone, or the default itself
  confirmed,    ///< better than the default in at least one objective
  unconfirmed,  ///< not clearly better than the default in any
};

struct FrontPoint {
  std::int64_t number = 0;  ///< number of its trial in the search, from 0
  MeasuredParams measured;
  FrontState state = FrontState::searched;
  int runs = 0;  ///< number of further runs

  bool operator==(const FrontPoint&) const = default;
};

struct StudyResult {
  MeasuredParams default_params;
  /// The winner, promoted or not; the default when nothing beat it. With several objectives by the
  /// first one.
  MeasuredParams best;
  bool promoted = false;
  double gain = 0;    ///< share of the default's value that the winner saves (PromotionVerdict)
  double needed = 0;  ///< the gain that has to be exceeded (PromotionVerdict)
  /// Confidence interval of the gain (PromotionVerdict); absent with fewer than two pairs.
  std::optional<GainInterval> interval = {};
  std::string reason;  ///< why promoted or not, one line
  /// Reason if the search ended before its trials were used up; otherwise empty.
  std::string stopped = {};
  /// With several objectives: the settings that no other one beats in all of them, the best in the
  /// first one in front.
  std::vector<FrontPoint> front = {};
  std::vector<Trial> trials;  ///< in the order in which they ended
  bool is_interim = false;    ///< of a study that has not ended: nothing is decided
};

/// Returns what a study would say that ended after `history`, with nothing promoted: its winner so
/// far, and that it is not confirmed. Errors as of run_study(); not_found without a trial.
Result<StudyResult> interim_result(const StudyOptions& options, std::vector<Trial> history);

/// Goes on after `history`, the finished trials of the same study in the order in which they ended,
/// exactly as an uninterrupted run would with those outcomes. Trials that still run are the crew's;
/// a trial of a single runner that was started and not finished runs again under its number. A
/// history that has begun to confirm ends the search, whatever the budget is. Errors:
/// timed_out where StudyOptions::why_no_time leaves the study undecided; invalid_argument for a
/// space of one point, fewer than 1 trial, or a history of another study; interrupted; and those of
/// the crew and the observer. Nothing is lost by an error: the observer knows every finished trial.
Result<StudyResult> run_study(const StudyOptions& options, std::vector<Trial> history,
                              TrialCrew& crew, StudyObserver& observer, const CancelToken& cancel);

/// Runs the study with a crew of one runner.
Result<StudyResult> run_study(const StudyOptions& options, std::vector<Trial> history,
                              TrialRunner& runner, StudyObserver& observer,
                              const CancelToken& cancel);

}  // namespace hocket
