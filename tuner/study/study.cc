#include "tuner/study/study.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/percent_text.h"
#include "core/base/statistics.h"
#include "core/protocol/promotion_rule.h"
#include "tuner/search/pareto_front.h"
#include "tuner/search/stop_rule.h"

namespace hocket {
namespace {

/// A belief that is so far above a measurement counts less than that, as a share.
constexpr double kContradiction = 0.1;

bool is_complete(const FinishedTrial& trial) {
  return trial.outcome.state == TrialState::complete;
}

/// The lowest value of the search, the earliest of equals; null when nothing completed.
const FinishedTrial* lowest(const std::vector<FinishedTrial>& trials) {
  const FinishedTrial* winner = nullptr;
  for (const auto& trial : trials) {
    if (trial.phase != TrialPhase::search || !is_complete(trial)) continue;
    if (!winner || trial.outcome.value < winner->outcome.value) winner = &trial;
  }
  return winner;
}

/// Of every objective.
std::vector<double> values_of(const TrialOutcome& outcome) {
  std::vector<double> values{outcome.value};
  values.insert(values.end(), outcome.others.begin(), outcome.others.end());
  return values;
}

/// The trials that no other one beats in all objectives, by the first of these.
std::vector<FinishedTrial> front_of(const std::vector<FinishedTrial>& trials) {
  std::vector<const FinishedTrial*> complete;
  std::vector<std::vector<double>> values;
  for (const FinishedTrial& trial : trials) {
    if (!is_complete(trial)) continue;
    complete.push_back(&trial);
    values.push_back(values_of(trial.outcome));
  }
  std::vector<FinishedTrial> front;
  for (const std::size_t place : pareto_front(values)) front.push_back(*complete[place]);
  std::ranges::stable_sort(front, {}, [](const FinishedTrial& t) { return t.outcome.value; });
  return front;
}

/// What keeps a complete trial from being one; empty when nothing does.
std::string problem_of(const TrialOutcome& outcome) {
  for (const double value : values_of(outcome))
    if (!std::isfinite(value)) return "expected a finite value, found " + to_text(value);
  return {};
}

std::optional<double> median_of(const TrialOutcome& outcome, const char* metric) {
  const auto found = outcome.metrics.find(metric);
  if (found == outcome.metrics.end() || found->second.empty()) return std::nullopt;
  return median(found->second);
}

class Study {
 public:
  Study(const StudyOptions& options, std::unique_ptr<Search> search, TrialRunner& runner,
        StudyObserver& observer, const CancelToken& cancel)
      : options_(options),
        runner_(runner),
        observer_(observer),
        cancel_(cancel),
        search_(std::move(search)) {}

  Result<void> replay(std::vector<FinishedTrial> history);
  Result<void> search();
  Result<void> confirm();
  StudyResult conclude();

 private:
  bool has_several_objectives() const { return options_.objectives > 1; }
  bool default_failed() const { return !is_complete(trials_.front()); }
  std::size_t count(TrialPhase phase) const;
  /// What the confirmation runs next; nothing when it is over, or there is no winner other than the
  /// default.
  std::optional<Params> next_of_confirmation() const;
  /// The confirmation runs of `params`, in order.
  std::vector<const FinishedTrial*> confirmations(const Params& params) const;
  bool confirmation_failed() const;

  /// Goes on from the first trial with what an earlier study gives.
  Result<void> take_donor();
  /// What the search runs next; nothing when it is over.
  std::optional<Params> next_of_search();
  const FinishedTrial* search_winner() const;
  /// What the search recommends, if that completed: the default where it is believed to be no
  /// worse.
  const FinishedTrial* believed_best(const FinishedTrial& measured) const;
  std::optional<std::string> reason_to_stop() const;
  Result<void> run_one(TrialPhase phase, const Params& params);
  Result<void> add(FinishedTrial trial);
  MeasuredParams measured(const Params& params, const TrialOutcome& in_search) const;
  void decide(const FinishedTrial& winner, StudyResult& result) const;
  void decide_over_failed_default(StudyResult& result) const;
  /// Requires as many confirmation runs of the default as of the winner.
  Verdict verdict(const FinishedTrial& winner) const;
  void decide_by_pairs(const FinishedTrial& winner, StudyResult& result) const;

  const StudyOptions& options_;
  TrialRunner& runner_;
  StudyObserver& observer_;
  const CancelToken& cancel_;
  std::unique_ptr<Search> search_;
  std::vector<double> expected_improvements_;
  std::vector<FinishedTrial> trials_;
  std::string stopped_;
};

std::size_t Study::count(TrialPhase phase) const {
  return static_cast<std::size_t>(std::count_if(
      trials_.begin(), trials_.end(), [&](const auto& trial) { return trial.phase == phase; }));
}

Result<void> Study::add(FinishedTrial trial) {
  if (trial.phase == TrialPhase::search) {
    if (auto told = search_->tell(evaluation_of(trial)); !told) return told;
  }
  trials_.push_back(std::move(trial));
  return {};
}

Result<void> Study::replay(std::vector<FinishedTrial> history) {
  const auto refuse = [](std::size_t number, const std::string& why) {
    return failure(ErrorCode::invalid_argument, "trial " + std::to_string(number) +
                                                    " of the stored study: " + why +
                                                    "; it belongs to another study");
  };
  for (std::size_t i = 0; i < history.size(); ++i) {
    auto& trial = history[i];
    auto params = options_.space.admit(trial.params);
    if (!params) return refuse(i, params.error().message);
    trial.params = std::move(*params);
    if (trial.number != static_cast<std::int64_t>(i)) {
      return refuse(i, "its number is " + std::to_string(trial.number));
    }
    if (trial.outcome.state == TrialState::running) return refuse(i, "it has not finished");
    if (i == 0 && trial.params != options_.space.defaults()) return refuse(i, "not the default");
    if (trial.phase == TrialPhase::search) {
      if (count(TrialPhase::confirm) > 0) return refuse(i, "a search after a confirmation");
      // What is asked next depends on what was asked before, too.
      static_cast<void>(next_of_search());
    } else {
      if (next_of_confirmation() != trial.params)
        return refuse(i, "a confirmation that was not due");
    }
    if (auto ok = add(std::move(trial)); !ok) return refuse(i, ok.error().message);
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
  if (phase == TrialPhase::search && may_end_early) incumbent = lowest(trials_);
  auto outcome = runner_.run(
      params, incumbent ? std::span(incumbent->outcome.samples) : std::span<const double>());
  if (!outcome) return failure(outcome.error());
  if (outcome->state == TrialState::complete) {
    if (auto problem = problem_of(*outcome); !problem.empty()) {
      outcome->state = TrialState::failed;
      outcome->message = std::move(problem);
    }
  }
  FinishedTrial trial{number, phase, params, std::move(*outcome)};
  if (auto ok = observer_.trial_finished(trial); !ok) return ok;
  return add(std::move(trial));
}

Result<void> Study::take_donor() {
  if (!options_.find_donor) return {};
  auto donor = options_.find_donor(trials_.front());
  if (!donor) return failure(donor.error());
  if (!*donor) return {};
  auto start = search_options(options_);
  start.donor = std::move(*donor);
  auto search = make_search(options_.space, std::move(start));
  if (!search) return failure(search.error());
  search_ = std::move(*search);
  // The default is what any search asks for first.
  static_cast<void>(search_->ask());
  return search_->tell(evaluation_of(trials_.front()));
}

std::optional<Params> Study::next_of_search() {
  const auto trials = static_cast<std::size_t>(options_.trials);
  if (trials > 1 && count(TrialPhase::search) + 1 == trials) {
    const auto recommended = search_->recommend();
    const bool tried = recommended && std::ranges::any_of(trials_, [&](const FinishedTrial& trial) {
                         return trial.params == recommended->params;
                       });
    if (recommended && !tried) return recommended->params;
  }
  auto suggestion = search_->ask();
  if (!suggestion) return std::nullopt;
  if (suggestion->expected_improvement)
    expected_improvements_.push_back(*suggestion->expected_improvement);
  return std::move(suggestion->params);
}

std::optional<std::string> Study::reason_to_stop() const {
  if (!options_.stop_early || has_several_objectives() || count(TrialPhase::search) < kLeastTrials)
    return std::nullopt;
  SearchProgress progress{.expected_improvements = expected_improvements_,
                          .regret_bound = {},
                          .noise = {},
                          .exposed = {}};
  if (const auto recommended = search_->recommend())
    progress.regret_bound = recommended->regret_bound;
  std::vector<double> noises;
  for (const FinishedTrial& trial : trials_) {
    const TrialOutcome& outcome = trial.outcome;
    if (!is_complete(trial) || outcome.samples.size() < 2 || !(outcome.value > 0)) continue;
    noises.push_back(median_standard_error(outcome.spread, outcome.samples.size()) / outcome.value);
  }
  if (!noises.empty()) progress.noise = median(noises);
  if (const FinishedTrial* best = lowest(trials_)) {
    const auto exposed_ns = median_of(best->outcome, "exposed_ns");
    const auto iteration_ns = median_of(best->outcome, "iteration_ns");
    if (exposed_ns && iteration_ns && *iteration_ns > 0)
      progress.exposed = *exposed_ns / *iteration_ns;
  }
  for (const auto& rule : stop_rules())
    if (auto reason = rule->reason(progress)) return reason;
  return std::nullopt;
}

Result<void> Study::search() {
  while (count(TrialPhase::confirm) == 0 &&
         count(TrialPhase::search) < static_cast<std::size_t>(options_.trials)) {
    if (trials_.size() == 1) {
      if (auto ok = take_donor(); !ok) return ok;
    }
    if (auto reason = reason_to_stop()) {
      stopped_ = std::move(*reason);
      break;
    }
    const auto params = next_of_search();
    if (!params) break;
    if (auto ok = run_one(TrialPhase::search, *params); !ok) return ok;
  }
  return {};
}

const FinishedTrial* Study::search_winner() const {
  const FinishedTrial* measured = lowest(trials_);
  if (!measured) return nullptr;
  const FinishedTrial* believed = believed_best(*measured);
  const double value = believed->outcome.value;
  const bool contradicted = measured->outcome.value < value - kContradiction * std::abs(value);
  return contradicted ? measured : believed;
}

const FinishedTrial* Study::believed_best(const FinishedTrial& measured) const {
  const auto recommended = search_->recommend();
  if (!recommended) return &measured;
  const double by_default = trials_.front().outcome.value;
  if (!default_failed() && recommended->expected >= by_default - 1e-9 * std::abs(by_default))
    return &trials_.front();
  for (const FinishedTrial& trial : trials_) {
    if (trial.phase == TrialPhase::search && is_complete(trial) &&
        trial.params == recommended->params) {
      return &trial;
    }
  }
  return &measured;
}

std::optional<Params> Study::next_of_confirmation() const {
  const auto* winner = has_several_objectives() ? nullptr : search_winner();
  if (!winner || winner == &trials_.front() || confirmation_failed()) return std::nullopt;
  const auto done = static_cast<int>(count(TrialPhase::confirm));
  if (default_failed()) {
    // Whether it works is all that is asked.
    return done < std::min(options_.confirm_pairs, kFewestPairs) ? std::optional(winner->params)
                                                                 : std::nullopt;
  }
  const int pair = done / 2;
  const bool opens_pair = done % 2 == 0;
  if (opens_pair && (pair >= options_.confirm_pairs || verdict(*winner).is_decided()))
    return std::nullopt;
  // The order alternates, so that a slow drift of the machine favours neither.
  const bool is_default = opens_pair == (pair % 2 == 0);
  return is_default ? options_.space.defaults() : winner->params;
}

bool Study::confirmation_failed() const {
  return std::any_of(trials_.begin(), trials_.end(), [](const auto& trial) {
    return trial.phase == TrialPhase::confirm && !is_complete(trial);
  });
}

Result<void> Study::confirm() {
  while (const auto params = next_of_confirmation()) {
    if (auto ok = run_one(TrialPhase::confirm, *params); !ok) return ok;
  }
  return {};
}

std::vector<const FinishedTrial*> Study::confirmations(const Params& params) const {
  std::vector<const FinishedTrial*> runs;
  for (const auto& trial : trials_) {
    if (trial.phase == TrialPhase::confirm && trial.params == params) runs.push_back(&trial);
  }
  return runs;
}

MeasuredParams Study::measured(const Params& params, const TrialOutcome& in_search) const {
  MeasuredParams result{params, std::nullopt, 0};
  if (in_search.state == TrialState::complete) result.others = in_search.others;
  std::vector<double> values;
  for (const auto* run : confirmations(params)) {
    if (!is_complete(*run)) continue;
    values.push_back(run->outcome.value);
    result.spread = run->outcome.spread;
  }
  if (values.empty()) {
    if (in_search.state != TrialState::complete) return result;
    result.value = in_search.value;
    result.spread = in_search.spread;
    return result;
  }
  if (values.size() > 1) result.spread = spread(values);
  result.value = median(std::move(values));
  return result;
}

void Study::decide_over_failed_default(StudyResult& result) const {
  result.promoted = true;
  result.reason = "the default failed (" + trials_.front().outcome.message + "); the winner works";
  const auto runs = confirmations(result.best.params).size();
  if (runs > 0) result.reason += " in " + std::to_string(runs) + " more runs";
}

Verdict Study::verdict(const FinishedTrial& winner) const {
  const auto runs_of = [&](const Params& params) {
    std::vector<ConfirmationRun> runs;
    for (const auto* trial : confirmations(params)) {
      const auto& outcome = trial->outcome;
      runs.push_back({outcome.value, outcome.spread, outcome.samples.size()});
    }
    return runs;
  };
  return compare(runs_of(options_.space.defaults()), runs_of(winner.params),
                 options_.confirm_pairs);
}

void Study::decide_by_pairs(const FinishedTrial& winner, StudyResult& result) const {
  const auto pairs = confirmations(winner.params).size();
  if (pairs < kFewestPairs) {
    result.reason = "the winner is not confirmed: that takes at least " +
                    std::to_string(kFewestPairs) + " pairs of runs, not " + std::to_string(pairs);
    return;
  }
  const Verdict verdict = this->verdict(winner);
  result.promoted = verdict.better;
  result.gain = verdict.gain;
  result.noise = verdict.noise;
  result.reason = percent(std::abs(verdict.gain)) + (verdict.gain >= 0 ? " better" : " worse") +
                  " than the default in " + std::to_string(pairs) + " pairs of runs, where " +
                  (verdict.better ? "more than " : "a gain of up to ") + percent(verdict.noise) +
                  (verdict.better ? " was needed" : " may be noise");
}

void Study::decide(const FinishedTrial& winner, StudyResult& result) const {
  if (has_several_objectives()) {
    result.reason = "which trade-off between the objectives is right is for you to choose";
  } else if (&winner == &trials_.front()) {
    result.reason = "the default is best";
  } else if (confirmation_failed()) {
    const bool of_winner = trials_.back().params == winner.params;
    result.reason = std::string("a confirmation run of the ") + (of_winner ? "winner" : "default") +
                    " did not complete: " + trials_.back().outcome.message;
  } else if (default_failed()) {
    decide_over_failed_default(result);
  } else {
    decide_by_pairs(winner, result);
  }
}

StudyResult Study::conclude() {
  StudyResult result;
  const Params defaults = options_.space.defaults();
  result.default_params = measured(defaults, trials_.front().outcome);
  const auto* winner = search_winner();
  if (winner) {
    result.best = measured(winner->params, winner->outcome);
    decide(*winner, result);
  } else {
    result.best = result.default_params;
    result.reason = "none of " + std::to_string(trials_.size()) +
                    " trials completed; the first one: " + trials_.front().outcome.message;
  }
  if (has_several_objectives()) result.front = front_of(trials_);
  result.stopped = std::move(stopped_);
  result.trials = std::move(trials_);
  return result;
}

}  // namespace

Evaluation evaluation_of(const FinishedTrial& trial) {
  Evaluation evaluation{trial.params, std::nullopt, 0};
  if (is_complete(trial)) {
    evaluation.value = trial.outcome.value;
    evaluation.standard_error =
        median_standard_error(trial.outcome.spread, trial.outcome.samples.size());
    evaluation.others = trial.outcome.others;
  }
  return evaluation;
}

SearchOptions search_options(const StudyOptions& options) {
  return {.method = options.method,
          .seed = options.seed,
          .step = options.step,
          .simulate = options.simulate,
          .objectives = options.objectives,
          .donor = options.donor};
}

Result<StudyResult> run_study(const StudyOptions& options, std::vector<FinishedTrial> history,
                              TrialRunner& runner, StudyObserver& observer,
                              const CancelToken& cancel) {
  if (options.trials < 1) {
    return failure(ErrorCode::invalid_argument,
                   "trials: expected at least 1, found " + std::to_string(options.trials));
  }
  if (options.confirm_pairs < 0) {
    return failure(ErrorCode::invalid_argument, "confirmation pairs: expected at least 0, found " +
                                                    std::to_string(options.confirm_pairs));
  }
  auto search = make_search(options.space, search_options(options));
  if (!search) return failure(search.error());
  Study study(options, std::move(*search), runner, observer, cancel);
  if (auto ok = study.replay(std::move(history)); !ok) return failure(ok.error());
  if (auto ok = study.search(); !ok) return failure(ok.error());
  if (auto ok = study.confirm(); !ok) return failure(ok.error());
  return study.conclude();
}

}  // namespace hocket
