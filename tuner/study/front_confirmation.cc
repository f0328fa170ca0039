#include "tuner/study/front_confirmation.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/statistics.h"
#include "tuner/search/pareto_front.h"
#include "tuner/study/confirmation.h"

namespace hocket {
namespace {

/// Returns the trials of the search that no other one beats in all objectives, the best in the
/// first objective in front.
std::vector<const Trial*> front_of(const std::vector<Trial>& trials,
                                   std::span<const Direction> directions) {
  std::vector<const Trial*> complete, front;
  std::vector<std::vector<double>> costs;
  for (const Trial& trial : trials) {
    if (trial.phase != TrialPhase::search || !is_complete(trial)) continue;
    complete.push_back(&trial);
    costs.push_back(costs_of(trial.outcome, directions));
  }
  for (const std::size_t place : pareto_front(costs)) front.push_back(complete[place]);
  std::ranges::stable_sort(
      front, {}, [&](const Trial* trial) { return costs_of(trial->outcome, directions).front(); });
  return front;
}

/// Returns at most kMostFrontPoints of `front`, in its order.
std::vector<const Trial*> chosen_of(const std::vector<const Trial*>& front,
                                    std::span<const Direction> directions) {
  if (front.size() <= kMostFrontPoints) return front;
  std::vector<std::size_t> places;
  const auto add = [&](std::size_t place) {
    if (places.size() < kMostFrontPoints && std::ranges::find(places, place) == places.end())
      places.push_back(place);
  };
  const std::size_t objectives = 1 + front.front()->outcome.others.size();
  for (std::size_t k = 0; k < objectives; ++k) {
    const auto best = std::ranges::min_element(
        front, {}, [&](const Trial* trial) { return costs_of(trial->outcome, directions)[k]; });
    add(static_cast<std::size_t>(best - front.begin()));
  }
  for (std::size_t i = 1; i < kMostFrontPoints; ++i) add(i * (front.size() - 1) / kMostFrontPoints);
  std::ranges::sort(places);
  std::vector<const Trial*> chosen;
  for (const std::size_t place : places) chosen.push_back(front[place]);
  return chosen;
}

/// Returns the samples of an objective in one run.
std::vector<double> samples_of(const TrialOutcome& outcome, std::size_t objective) {
  if (objective == 0) return outcome.samples;
  const auto found = outcome.metrics.find(metric_of_other(objective - 1));
  return found == outcome.metrics.end() ? std::vector<double>() : found->second;
}

double value_of(const TrialOutcome& outcome, std::size_t objective) {
  return objective == 0 ? *outcome.value : outcome.others.at(objective - 1);
}

}  // namespace

FrontConfirmation::FrontConfirmation(const std::vector<Trial>& trials, const StudyOptions& options)
    : trials_(trials), options_(options) {
  const auto& directions = options.session.directions;
  front_ = front_of(trials, directions);
  auto points = front_;
  std::erase_if(points, [&](const Trial* t) { return t->params == trials.front().params; });
  if (!points.empty()) chosen_ = chosen_of(points, directions);
  // Goes through the rounds as far as they have been run.
  auto run = std::ranges::find(trials, TrialPhase::confirm, &Trial::phase);
  for (int round = 0; round < most_rounds(); ++round) {
    std::vector<Params> due;
    for (const Trial* point : chosen_) {
      if (is_open(point->params)) due.push_back(point->params);
    }
    if (due.empty()) return;
    if (has_default()) due.insert(due.begin(), trials.front().params);
    if (round % 2 == 1) std::ranges::reverse(due);
    for (std::size_t i = 0; i < due.size(); ++i, ++run) {
      if (run == trials.end()) {
        rest_.assign(due.begin() + static_cast<std::ptrdiff_t>(i), due.end());
        return;
      }
      runs_[due[i]].push_back(&*run);
    }
  }
}

bool FrontConfirmation::has_default() const {
  return is_complete(trials_.front());
}

int FrontConfirmation::most_rounds() const {
  return has_default() ? options_.confirm_pairs : std::min(options_.confirm_pairs, kFewestPairs);
}

std::optional<Params> FrontConfirmation::next() const {
  return rest_.empty() ? std::nullopt : std::optional(rest_.front());
}

const FrontConfirmation::Runs& FrontConfirmation::runs_of(const Params& params) const {
  static const Runs kNone;
  const auto found = runs_.find(params);
  return found == runs_.end() ? kNone : found->second;
}

MeasuredParams FrontConfirmation::measured(const Trial& in_search) const {
  MeasuredParams result{in_search.params, std::nullopt, 0};
  std::vector<const TrialOutcome*> outcomes;
  for (const Trial* run : runs_of(in_search.params)) {
    if (is_complete(*run)) outcomes.push_back(&run->outcome);
  }
  if (outcomes.empty() && is_complete(in_search)) outcomes.push_back(&in_search.outcome);
  if (outcomes.empty()) return result;
  for (std::size_t k = 0; k <= in_search.outcome.others.size(); ++k) {
    std::vector<double> values;
    for (const TrialOutcome* outcome : outcomes) values.push_back(value_of(*outcome, k));
    const auto samples = samples_of(*outcomes.front(), k);
    const double within = samples.empty() ? 0 : spread(samples);
    const double width = values.size() > 1 ? spread(values) : within;
    const double middle = median(std::move(values));
    if (k == 0) {
      result.value = middle;
      result.spread = width;
    } else {
      result.others.push_back(middle);
      result.other_spreads.push_back(width);
    }
  }
  return result;
}

PromotionVerdict FrontConfirmation::verdict(const Params& params, std::size_t objective) const {
  const auto measured_runs = [&](const Runs& runs, std::size_t count) {
    std::vector<ConfirmationRun> result;
    for (const Trial* run : std::span(runs).first(count)) {
      const auto samples = samples_of(run->outcome, objective);
      result.push_back({value_of(run->outcome, objective), samples.empty() ? 0 : spread(samples),
                        samples.size()});
    }
    return result;
  };
  // A point takes part from the first round on, so its runs and those of the default form pairs. In
  // a round that has not ended one of the two may be missing.
  const Runs &before = runs_of(trials_.front().params), &after = runs_of(params);
  const std::size_t pairs = std::min(before.size(), after.size());
  const double objectives = 1 + static_cast<double>(trials_.front().outcome.others.size());
  return promotion_verdict(measured_runs(before, pairs), measured_runs(after, pairs),
                           options_.confirm_pairs,
                           direction_at(options_.session.directions, objective), 1 / objectives);
}

bool FrontConfirmation::is_confirmed(const Params& params) const {
  const auto completes = [](const Runs& runs) {
    return std::ranges::all_of(runs, [](const Trial* run) { return is_complete(*run); });
  };
  const Runs& runs = runs_of(params);
  if (!completes(runs)) return false;
  if (!has_default()) return runs.size() >= static_cast<std::size_t>(kFewestPairs);
  if (!completes(runs_of(trials_.front().params))) return false;
  for (std::size_t k = 0; k <= trials_.front().outcome.others.size(); ++k) {
    if (verdict(params, k).better) return true;
  }
  return false;
}

bool FrontConfirmation::is_open(const Params& params) const {
  for (const auto* runs : {&runs_of(params), &runs_of(trials_.front().params)}) {
    if (std::ranges::any_of(*runs, [](const Trial* run) { return !is_complete(*run); }))
      return false;
  }
  if (!has_default()) return true;
  if (is_confirmed(params)) return false;
  for (std::size_t k = 0; k <= trials_.front().outcome.others.size(); ++k) {
    if (!verdict(params, k).worse) return true;
  }
  return false;
}

std::vector<double> FrontConfirmation::costs_of_measured(const MeasuredParams& measured) const {
  TrialOutcome outcome;
  outcome.value = measured.value.value_or(0);
  outcome.others = measured.others;
  return costs_of(outcome, options_.session.directions);
}

std::vector<FrontPoint> FrontConfirmation::points() const {
  std::vector<FrontPoint> points;
  std::vector<std::vector<double>> costs;
  std::vector<bool> is_again;
  for (const Trial* trial : front_) {
    const auto runs = static_cast<int>(runs_of(trial->params).size());
    FrontPoint point{.number = trial->number, .measured = measured(*trial), .runs = runs};
    if (runs > 0) {
      point.state = is_confirmed(trial->params) ? FrontState::confirmed : FrontState::unconfirmed;
    }
    // The default is what the others are confirmed against.
    if (trial->params == trials_.front().params) point.state = FrontState::searched;
    costs.push_back(costs_of_measured(point.measured));
    is_again.push_back(runs > 0);
    points.push_back(std::move(point));
  }
  if (has_default() && !runs_of(trials_.front().params).empty()) {
    costs.push_back(costs_of_measured(default_params()));
    is_again.push_back(true);
  }
  std::vector<FrontPoint> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool stays = true;
    for (std::size_t j = 0; stays && j < costs.size(); ++j) {
      if (i == j || !is_again[i] || !is_again[j] || costs[i] == costs[j]) continue;
      stays = pareto_front(std::vector{costs[i], costs[j]}).size() == 2 ||
              pareto_front(std::vector{costs[i], costs[j]}).front() == 0;
    }
    if (stays) front.push_back(std::move(points[i]));
  }
  std::ranges::stable_sort(front, {}, [&](const FrontPoint& point) {
    return costs_of_measured(point.measured).front();
  });
  return front;
}

}  // namespace hocket
