#include "tuner/study/confirmation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"

namespace hocket {

Confirmation::Confirmation(const std::vector<Trial>& trials, const Trial& winner,
                           const StudyOptions& options)
    : trials_(trials), winner_(winner), options_(options) {
  for (const Trial& trial : trials) {
    if (trial.phase != TrialPhase::confirm) continue;
    const bool closes_pair = !default_failed() && runs_.size() % 2 == 1;
    if (closes_pair && runs_.back()->worker != trial.worker) runs_.pop_back();
    runs_.push_back(&trial);
  }
}

std::optional<Params> Confirmation::next() const {
  if (&winner_ == &of_default() || has_failed()) return std::nullopt;
  const auto done = static_cast<int>(runs_.size());
  if (default_failed()) {
    // The only question is whether the winner works.
    return done < std::min(most_pairs(), kFewestPairs) ? std::optional(winner_.params)
                                                       : std::nullopt;
  }
  const int pair = done / 2;
  const bool opens_pair = done % 2 == 0;
  if (opens_pair && (pair >= most_pairs() || verdict().is_decided())) return std::nullopt;
  // The order alternates, so that a slow drift of the machine favours neither.
  const bool is_default = opens_pair ? pair % 2 == 0 : runs_.back()->params == winner_.params;
  return is_default ? of_default().params : winner_.params;
}

bool Confirmation::has_failed() const {
  return std::ranges::any_of(trials_, [](const Trial& trial) {
    return trial.phase == TrialPhase::confirm && !is_complete(trial);
  });
}

std::vector<const Trial*> Confirmation::runs_of(const Params& params) const {
  std::vector<const Trial*> runs;
  for (const auto* run : runs_) {
    if (run->params == params) runs.push_back(run);
  }
  return runs;
}

MeasuredParams Confirmation::measured(const Trial& in_search) const {
  MeasuredParams result{in_search.params, std::nullopt, 0};
  std::vector<double> values;
  for (const auto* run : runs_of(in_search.params)) {
    if (!is_complete(*run)) continue;
    values.push_back(*run->outcome.value);
    result.spread = run->outcome.spread.value_or(0);
  }
  if (values.empty()) {
    if (!is_complete(in_search)) return result;
    result.value = in_search.outcome.value;
    result.spread = in_search.outcome.spread.value_or(0);
    return result;
  }
  if (values.size() > 1) result.spread = spread(values);
  result.value = median(std::move(values));
  return result;
}

PromotionVerdict Confirmation::verdict() const {
  const auto measured_runs = [&](const Params& params) {
    std::vector<ConfirmationRun> runs;
    for (const auto* trial : runs_of(params)) {
      const auto& outcome = trial->outcome;
      runs.push_back({*outcome.value, outcome.spread.value_or(0), outcome.samples.size()});
    }
    return runs;
  };
  return promotion_verdict(measured_runs(of_default().params), measured_runs(winner_.params),
                           most_pairs(), direction_at(options_.session.directions, 0));
}

void Confirmation::decide_over_failed_default(StudyResult& result) const {
  result.promoted = true;
  result.reason = "the default failed (" + of_default().outcome.message + "); the winner works";
  const auto runs = runs_of(winner_.params).size();
  if (runs > 0) result.reason += " in " + std::to_string(runs) + " more runs";
}

void Confirmation::decide_by_pairs(StudyResult& result) const {
  const auto pairs = runs_of(winner_.params).size();
  if (pairs < kFewestPairs) {
    result.reason = "the winner is not confirmed: that takes at least " +
                    std::to_string(kFewestPairs) + " pairs of runs, not " + std::to_string(pairs);
    return;
  }
  const PromotionVerdict verdict = this->verdict();
  result.promoted = verdict.better;
  result.gain = verdict.gain;
  result.needed = verdict.needed;
  result.interval = verdict.interval;
  result.reason = percent(std::abs(verdict.gain)) + (verdict.gain >= 0 ? " better" : " worse") +
                  " than the " + (options_.default_is_assumed ? "assumed " : "") + "default in " +
                  std::to_string(pairs) + " pairs of runs, where more than " +
                  percent(verdict.needed) + " was needed";
}

void Confirmation::decide(StudyResult& result) const {
  if (&winner_ == &of_default()) {
    result.reason = "the default is best";
  } else if (has_failed()) {
    const bool is_of_winner = trials_.back().params == winner_.params;
    result.reason = std::string("a confirmation run of the ") +
                    (is_of_winner ? "winner" : "default") +
                    " did not complete: " + trials_.back().outcome.message;
  } else if (default_failed()) {
    decide_over_failed_default(result);
  } else {
    decide_by_pairs(result);
  }
}

}  // namespace hocket
