#include "tuner/study/confirmation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"

namespace hocket {

Confirmation::Confirmation(const std::vector<Trial>& trials, const Trial& winner,
                           const Trial* rival, const StudyOptions& options)
    : trials_(trials), winner_(winner), options_(options), candidates_{&winner} {
  if (rival != nullptr) candidates_.push_back(rival);
  first_candidates_ = candidates_.size();
  const auto has_failed_run = [&](const Trial* candidate) {
    return std::ranges::any_of(trials, [&](const Trial& trial) {
      return trial.phase == TrialPhase::confirm && !is_complete(trial) &&
             trial.params == candidate->params;
    });
  };
  if (!std::ranges::all_of(candidates_, has_failed_run)) std::erase_if(candidates_, has_failed_run);
  if (!default_failed()) entrants_.push_back(&of_default());
  entrants_.insert(entrants_.end(), candidates_.begin(), candidates_.end());
  for (const Trial& trial : trials) {
    const auto is_of = [&](const Trial* entrant) { return entrant->params == trial.params; };
    if (trial.phase != TrialPhase::confirm || std::ranges::none_of(entrants_, is_of)) continue;
    const std::size_t open = runs_.size() % entrants_.size();
    if (open > 0 && runs_.back()->worker != trial.worker) runs_.resize(runs_.size() - open);
    runs_.push_back(&trial);
  }
}

std::optional<Params> Confirmation::next() const {
  if (&winner_ == &of_default() || has_failed()) return std::nullopt;
  const std::size_t round = runs_.size() / entrants_.size(), open = runs_.size() % entrants_.size();
  if (open == 0) {
    // A default that failed has no runs to compare with: a candidate has to work, no more.
    const int most = default_failed() ? std::min(most_pairs(), kFewestPairs) : most_pairs();
    if (static_cast<int>(round) >= most) return std::nullopt;
    if (!default_failed() && verdict().is_decided()) return std::nullopt;
  }
  // The order alternates, so that a slow drift of the machine favours none.
  std::vector<const Trial*> order = entrants_;
  if (round % 2 == 1) std::ranges::reverse(order);
  const std::vector<const Trial*> begun(runs_.end() - static_cast<std::ptrdiff_t>(open),
                                        runs_.end());
  const auto due = std::ranges::find_if(order, [&](const Trial* entrant) {
    return std::ranges::none_of(begun,
                                [&](const Trial* run) { return run->params == entrant->params; });
  });
  return (*due)->params;
}

bool Confirmation::has_failed() const {
  return std::ranges::any_of(runs_, [](const Trial* run) { return !is_complete(*run); });
}

std::optional<double> Confirmation::cost_in_runs(const Trial& candidate) const {
  std::vector<double> costs;
  for (const Trial* run : runs_of(candidate.params)) {
    if (is_complete(*run))
      costs.push_back(cost(*run->outcome.value, direction_at(options_.session.directions, 0)));
  }
  if (costs.empty()) return std::nullopt;
  return median(std::move(costs));
}

const Trial& Confirmation::best() const {
  const Trial* best = candidates_.front();
  for (const Trial* candidate : candidates_) {
    const auto own = cost_in_runs(*candidate), least = cost_in_runs(*best);
    if (own && least && *own < *least) best = candidate;
  }
  return *best;
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
  return promotion_verdict(measured_runs(of_default().params), measured_runs(best().params),
                           most_pairs(), direction_at(options_.session.directions, 0),
                           1.0 / static_cast<double>(first_candidates_));
}

void Confirmation::decide_over_failed_default(StudyResult& result) const {
  result.promoted = true;
  result.reason = "the default failed (" + of_default().outcome.message + "); the winner works";
  const auto runs = runs_of(best().params).size();
  if (runs > 0) result.reason += " in " + std::to_string(runs) + " more runs";
}

void Confirmation::decide_by_pairs(StudyResult& result) const {
  const auto pairs = runs_of(best().params).size();
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
                  percent(verdict.needed) + " was needed" + other_text();
}

std::string Confirmation::other_text() const {
  const Trial& best = this->best();
  for (const Trial* other : candidates_) {
    const auto own = cost_in_runs(best), cost = cost_in_runs(*other);
    if (other == &best || !own || !cost || *own == 0) continue;
    return "; the setting of trial " + std::to_string(shown_number(*other)) + " was " +
           percent(std::abs(*cost / *own - 1)) + " worse in the same runs";
  }
  return {};
}

void Confirmation::decide(StudyResult& result) const {
  if (&winner_ == &of_default()) {
    result.reason = "the default is best";
  } else if (has_failed()) {
    const bool is_of_default = trials_.back().params == of_default().params;
    result.reason = std::string("a confirmation run of the ") +
                    (is_of_default ? "default" : "winner") +
                    " did not complete: " + trials_.back().outcome.message;
  } else if (default_failed()) {
    decide_over_failed_default(result);
  } else {
    decide_by_pairs(result);
  }
}

}  // namespace hocket
