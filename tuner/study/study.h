#pragma once

// One study: search, confirm, decide. Deterministic: what is run next depends on the options and on
// the outcomes so far, never on a clock. One thread at a time.
//
// The search runs the default first and then what the search asks for, `trials` in all, fewer
// when the space holds no more points or a rule of tuner/search/stop_rule.h ends it. The last trial
// is of the setting that is recommended, if that was not tried. The winner is what is recommended
// in the end if it completed, else the lowest value. Winner and default then run again in pairs, in
// the order default, winner, winner, default, default, …, until the rule of
// core/protocol/promotion_rule.h has decided, and at most `confirm_pairs` times each. When the
// default failed in the search, the winner runs alone, twice, and is promoted when both runs
// complete. A confirmation run that does not complete ends the confirmation, and nothing is
// promoted.
//
// With several objectives the search is for their Pareto front. Which trade-off is right is not the
// study's to say: nothing is confirmed or promoted, no rule ends the search, and trials run to
// their end, as one with a high first objective may be on the front.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

struct FinishedTrial {
  std::int64_t number = 0;  ///< from 0, in the order in which trials were run
  TrialPhase phase = TrialPhase::search;
  Params params;
  TrialOutcome outcome;  ///< complete, failed or timeout

  bool operator==(const FinishedTrial&) const = default;
};

/// What a search is told of `trial`.
Evaluation evaluation_of(const FinishedTrial& trial);

struct StudyOptions {
  Space space;
  SearchMethod method = SearchMethod::model;
  std::uint64_t seed = 0;
  int trials = 30;                ///< of the search, the default included; at least 1
  int confirm_pairs = 5;          ///< at most; fewer than 2 cannot promote over a working default
  bool stop_early = false;        ///< by the rules of tuner/search/stop_rule.h, after kLeastTrials
  bool end_trials_early = false;  ///< of the search, by the rule of tuner/trial/early_end.h
  std::size_t objectives = 1;     ///< above 1 the method must be `model`, and no donor counts
  bool simulate = true;           ///< whether values are times of a step (SearchOptions)
  std::optional<StepDescription> step = {};  ///< of the default, for the search's model
  std::optional<Donor> donor = {};           ///< an earlier study to start from
  /// Asked for one when the first trial, which says what the job is, has finished and no other has.
  /// May be empty. What it answers must be `donor` when the study is resumed.
  std::function<Result<std::optional<Donor>>(const FinishedTrial& first)> find_donor = {};
};

/// What the search of a study starts from.
SearchOptions search_options(const StudyOptions& options);

/// No rule ends a search before so many trials.
inline constexpr int kLeastTrials = 6;

/// Told of everything as it happens, to keep it. An error ends the study with that error.
class StudyObserver {
 public:
  virtual ~StudyObserver() = default;
  virtual Result<void> trial_started(std::int64_t number, TrialPhase phase,
                                     const Params& params) = 0;
  virtual Result<void> trial_finished(const FinishedTrial& trial) = 0;
};

/// A setting and what was measured of it.
struct MeasuredParams {
  Params params;
  /// Median over its confirmation runs where there are any, else its value in the search; nothing
  /// when it never completed.
  std::optional<double> value;
  /// Half interquartile range over the same runs; within the run when it is one.
  double spread = 0;
  std::vector<double> others = {};  ///< of further objectives, in the search
};

struct StudyResult {
  MeasuredParams default_params;
  /// The winner, promoted or not; the default when nothing beat it. Of several objectives the
  /// first one says.
  MeasuredParams best;
  bool promoted = false;
  double gain = 0;     ///< share of the default's value that the winner saves (Verdict)
  double noise = 0;    ///< the gain that has to be exceeded (Verdict)
  std::string reason;  ///< why promoted or not, one line
  /// Why the search ended before its trials were used up; empty: it did not.
  std::string stopped = {};
  /// With several objectives: the trials that no other one beats in all of them, by their value.
  std::vector<FinishedTrial> front = {};
  std::vector<FinishedTrial> trials;
};

/// Goes on after `history`, the finished trials of the same study in order, exactly as an
/// uninterrupted run would with those outcomes; a trial that was started and not finished runs
/// again under its number. A history that has begun to confirm ends the search, whatever `trials`
/// says. Errors: invalid_argument for a space of one point, fewer than 1 trial, or a history of
/// another study; interrupted; and those of the runner and the observer. Nothing is lost by an
/// error: the observer knows every finished trial.
Result<StudyResult> run_study(const StudyOptions& options, std::vector<FinishedTrial> history,
                              TrialRunner& runner, StudyObserver& observer,
                              const CancelToken& cancel);

}  // namespace hocket
