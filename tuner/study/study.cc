#include "tuner/study/study.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "tuner/study/confirmation.h"
#include "tuner/study/front_confirmation.h"

namespace hocket {
namespace {

/// A belief that is above a measurement by more than this share counts less than the measurement.
constexpr double kContradiction = 0.1;

/// Returns the values of all objectives.
std::vector<double> values_of(const TrialOutcome& outcome) {
  std::vector<double> values{outcome.value};
  values.insert(values.end(), outcome.others.begin(), outcome.others.end());
  return values;
}

/// Returns why a trial counts as failed although it completed; empty if it does not.
std::string problem_of(const TrialOutcome& outcome) {
  for (const double value : values_of(outcome))
    if (!std::isfinite(value)) return "expected a finite value, found " + to_text(value);
  return {};
}

Error of_another_study(std::size_t number, const std::string& why) {
  return {ErrorCode::invalid_argument, "trial " + std::to_string(number) +
                                           " of the stored study: " + why +
                                           "; it belongs to another study"};
}

/// Returns the trials of the search in `history` as they were asked and told: one after the other.
/// An error names the trial that no study of `space` has.
Result<std::vector<SessionTrial>> searched(const std::vector<FinishedTrial>& history,
                                           const Space& space) {
  std::vector<SessionTrial> past;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const FinishedTrial& trial = history[i];
    const auto refuse = [&](const std::string& why) { return failure(of_another_study(i, why)); };
    const auto params = space.admit(trial.params);
    if (!params) return refuse(params.error().message);
    const auto number = static_cast<std::int64_t>(i);
    if (trial.number != number) return refuse("its number is " + std::to_string(trial.number));
    if (trial.outcome.state == TrialState::running) return refuse("it has not finished");
    if (i == 0 && *params != space.defaults()) return refuse("not the default");
    if (trial.phase == TrialPhase::confirm) continue;
    if (past.size() < i) return refuse("a search after a confirmation");
    past.push_back({.number = number,
                    .params = *params,
                    .outcome = trial.outcome,
                    .began = number,
                    .ended = number});
  }
  return past;
}

class Study {
 public:
  Study(const StudyOptions& options, StudySession session, TrialRunner& runner,
        StudyObserver& observer, const CancelToken& cancel)
      : options_(options),
        session_(std::move(session)),
        runner_(runner),
        observer_(observer),
        cancel_(cancel),
        stopped_(options.stopped) {}

  /// Takes what the session has been through, and the confirmations behind it.
  Result<void> resume(std::vector<FinishedTrial> history);
  Result<void> search();
  Result<void> confirm();
  StudyResult conclude();

 private:
  bool has_several_objectives() const { return options_.session.search.objectives > 1; }
  const Space& space() const { return session_.space(); }
  /// Returns the cost of the first objective.
  double cost_of(const FinishedTrial& trial) const {
    return cost(trial.outcome.value, direction_at(session_.directions(), 0));
  }
  /// The trial of the search with the lowest cost; null when nothing completed.
  const FinishedTrial* lowest() const;
  /// The winner of the search; null when nothing completed.
  const FinishedTrial* winner() const;
  /// The setting that the search recommends, if its trial completed: the default where it is
  /// believed to be no worse.
  const FinishedTrial* believed_best(const FinishedTrial& measured) const;
  /// The setting that the confirmation runs next; nothing when it is over.
  std::optional<Params> next_of_confirmation() const;
  /// Starts from an earlier study, if there is one.
  Result<void> take_donor();
  Result<void> stop(std::string reason);
  Result<void> run_one(TrialPhase phase, const Params& params);

  const StudyOptions& options_;
  StudySession session_;
  TrialRunner& runner_;
  StudyObserver& observer_;
  const CancelToken& cancel_;
  std::vector<FinishedTrial> trials_;  ///< those of the search first, as the session was told
  std::string stopped_;                ///< as in StudyResult
};

Result<void> Study::resume(std::vector<FinishedTrial> history) {
  for (FinishedTrial& trial : history) {
    auto params = space().admit(trial.params);
    HOCKET_TRY(params);
    trial.params = std::move(*params);
    if (trial.phase == TrialPhase::confirm && next_of_confirmation() != trial.params)
      return failure(of_another_study(trials_.size(), "a confirmation that was not due"));
    trials_.push_back(std::move(trial));
  }
  return {};
}

Result<void> Study::run_one(TrialPhase phase, const Params& params) {
  if (cancel_.cancelled()) return failure(ErrorCode::interrupted, "the study was interrupted");
  const auto number = static_cast<std::int64_t>(trials_.size());
  if (auto ok = observer_.trial_started(number, phase, params); !ok) return ok;
  const FinishedTrial* incumbent = nullptr;
  // A confirmation compares whole runs.
  const bool may_end_early = options_.end_trials_early && !has_several_objectives();
  if (phase == TrialPhase::search && may_end_early) incumbent = lowest();
  auto outcome = runner_.run(
      params, incumbent ? std::span(incumbent->outcome.samples) : std::span<const double>());
  HOCKET_TRY(outcome);
  if (outcome->state == TrialState::complete) {
    if (auto problem = problem_of(*outcome); !problem.empty()) {
      outcome->state = TrialState::failed;
      outcome->message = std::move(problem);
    }
  }
  FinishedTrial trial{number, phase, params, std::move(*outcome)};
  if (auto ok = observer_.trial_finished(trial); !ok) return ok;
  if (phase == TrialPhase::search) {
    if (auto ok = session_.tell(params, trial.outcome); !ok) return ok;
  }
  trials_.push_back(std::move(trial));
  return {};
}

Result<void> Study::take_donor() {
  if (!options_.find_donor) return {};
  auto donor = options_.find_donor(trials_.front());
  HOCKET_TRY(donor);
  if (!*donor) return {};
  return session_.start_from(std::move(**donor));
}

Result<void> Study::stop(std::string reason) {
  stopped_ = std::move(reason);
  return observer_.search_stopped(stopped_);
}

Result<void> Study::search() {
  if (!stopped_.empty()) return {};
  if (!trials_.empty() && trials_.back().phase == TrialPhase::confirm) return {};
  for (;;) {
    if (trials_.size() == 1) {
      if (options_.needs_default && !is_complete(trials_.front()))
        return stop("the default failed");
      if (auto ok = take_donor(); !ok) return ok;
    }
    const SessionNext next = session_.ask();
    if (!next.params)
      return session_.end() == SessionEnd::rule ? stop(session_.end_reason()) : Result<void>();
    if (auto ok = run_one(TrialPhase::search, *next.params); !ok) return ok;
  }
}

const FinishedTrial* Study::lowest() const {
  const auto best = session_.best();
  return best ? &trials_[*best] : nullptr;
}

const FinishedTrial* Study::winner() const {
  const FinishedTrial* measured = lowest();
  if (!measured) return nullptr;
  const FinishedTrial* believed = believed_best(*measured);
  const double value = cost_of(*believed);
  const bool contradicted = cost_of(*measured) < value - kContradiction * std::abs(value);
  return contradicted ? measured : believed;
}

const FinishedTrial* Study::believed_best(const FinishedTrial& measured) const {
  const auto recommended = session_.recommend();
  if (!recommended) return &measured;
  const double by_default = cost_of(trials_.front());
  if (is_complete(trials_.front()) &&
      cost(recommended->expected, direction_at(session_.directions(), 0)) >=
          by_default - 1e-9 * std::abs(by_default)) {
    return &trials_.front();
  }
  for (const FinishedTrial& trial : trials_) {
    if (trial.phase == TrialPhase::search && is_complete(trial) &&
        trial.params == recommended->params) {
      return &trial;
    }
  }
  return &measured;
}

std::optional<Params> Study::next_of_confirmation() const {
  if (has_several_objectives()) return FrontConfirmation(trials_, options_).next();
  const auto* const best = winner();
  if (!best) return std::nullopt;
  return Confirmation(trials_, *best, options_).next();
}

Result<void> Study::confirm() {
  while (const auto params = next_of_confirmation()) {
    if (auto ok = run_one(TrialPhase::confirm, *params); !ok) return ok;
  }
  return {};
}

StudyResult Study::conclude() {
  StudyResult result;
  const auto* const best = winner();
  if (!best) {
    result.default_params = {trials_.front().params, std::nullopt};
    result.best = result.default_params;
    result.reason = (trials_.size() == 1 ? "the default failed: "
                                         : "none of " + std::to_string(trials_.size()) +
                                               " trials completed; the first one: ") +
                    trials_.front().outcome.message;
  } else if (has_several_objectives()) {
    const FrontConfirmation confirmation(trials_, options_);
    result.default_params = confirmation.default_params();
    result.front = confirmation.points();
    result.best = result.front.front().measured;
    result.reason = "which trade-off between the objectives is right is for you to choose";
  } else {
    const Confirmation confirmation(trials_, *best, options_);
    result.default_params = confirmation.measured(trials_.front());
    result.best = confirmation.measured(*best);
    confirmation.decide(result);
  }
  result.stopped = std::move(stopped_);
  result.trials = std::move(trials_);
  return result;
}

}  // namespace

StudyOptions study_options(const StudyDefinition& definition) {
  return {.session = session_options(definition),
          .confirm_pairs = static_cast<int>(definition.confirm_pairs),
          .end_trials_early = definition.end_trials_early,
          .needs_default = definition.needs_default,
          .stopped = definition.stopped,
          .default_is_assumed = !assumed_parameters(definition.default_sources).empty()};
}

Result<StudyResult> run_study(const StudyOptions& options, std::vector<FinishedTrial> history,
                              TrialRunner& runner, StudyObserver& observer,
                              const CancelToken& cancel) {
  if (options.confirm_pairs < 0) {
    return failure(ErrorCode::invalid_argument, "confirmation pairs: expected at least 0, found " +
                                                    std::to_string(options.confirm_pairs));
  }
  const auto past = searched(history, options.session.space);
  HOCKET_TRY(past);
  auto session = StudySession::make(options.session, *past);
  HOCKET_TRY(session);
  Study study(options, std::move(*session), runner, observer, cancel);
  HOCKET_TRY(study.resume(std::move(history)));
  HOCKET_TRY(study.search());
  HOCKET_TRY(study.confirm());
  return study.conclude();
}

}  // namespace hocket
