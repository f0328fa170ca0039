#include "tuner/study/study_session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"
#include "tuner/search/stop_rule.h"

namespace hocket {
namespace {

/// Looks at a setting after which it is not worth another one, and errors within which a value is
/// hoped for: a bound at 90 %.
constexpr std::size_t kMostLooks = 2;
constexpr double kHopedErrors = 1.28;
constexpr const char* kGiven = "not asked for";
constexpr const char* kNotAsked = "not asked: every setting had been asked before";

std::optional<double> median_of(const TrialOutcome& outcome, const char* metric) {
  const auto found = outcome.metrics.find(metric);
  if (found == outcome.metrics.end() || found->second.empty()) return std::nullopt;
  return median(found->second);
}

/// The share of an iteration in which communication is exposed, where the job reported it.
std::optional<double> exposed_share(const TrialOutcome& outcome) {
  const auto exposed_ns = median_of(outcome, "exposed_ns");
  const auto iteration_ns = median_of(outcome, "iteration_ns");
  if (!exposed_ns || !iteration_ns || !(*iteration_ns > 0)) return std::nullopt;
  return *exposed_ns / *iteration_ns;
}

SessionNext nothing(std::string reason, bool is_over) {
  return {.reason = std::move(reason), .is_over = is_over};
}

/// Removes `params` from `queue`; false if it is not there.
bool take(std::deque<Params>& queue, const Params& params) {
  const auto at = std::ranges::find(queue, params);
  if (at == queue.end()) return false;
  queue.erase(at);
  return true;
}

}  // namespace

bool uses_simulator(const StudyDefinition& definition) {
  return definition.other_objectives.empty() &&
         definition.objective.kind != ObjectiveKind::memory &&
         definition.objective.direction == Direction::minimise;
}

SessionOptions session_options(const StudyDefinition& definition) {
  return {.space = definition.space,
          .search = {.method = definition.method,
                     .seed = static_cast<std::uint64_t>(definition.seed),
                     .step = definition.step,
                     .simulate = uses_simulator(definition),
                     .direction = definition.objective.direction,
                     .objectives = 1 + definition.other_objectives.size(),
                     .donor = definition.donor},
          .trials = definition.trials,
          .stop_early = definition.stop_early,
          .least_trials = definition.least_trials.value_or(kLeastTrials),
          .directions = directions_of(definition)};
}

std::vector<Direction> directions_of(const StudyDefinition& definition) {
  std::vector<Direction> directions;
  for (const Objective& objective : objectives_of(definition))
    directions.push_back(objective.direction);
  return directions;
}

Evaluation evaluation_of(const Params& params, const TrialOutcome& outcome,
                         std::span<const Direction> directions) {
  Evaluation evaluation{.params = params, .value = std::nullopt};
  if (outcome.state != TrialState::complete) return evaluation;
  const std::vector<double> costs = costs_of(outcome, directions);
  evaluation.value = costs.front();
  evaluation.standard_error =
      median_standard_error(outcome.spread.value_or(0), outcome.samples.size());
  evaluation.others.assign(costs.begin() + 1, costs.end());
  const auto reference = outcome.metrics.find(kReferenceMetric);
  if (reference == outcome.metrics.end() || reference->second.empty()) return evaluation;
  const double middle = median(reference->second);
  if (middle > 0) {
    evaluation.standard_error +=
        median_standard_error(spread(reference->second), reference->second.size()) / middle *
        *outcome.value;
  }
  return evaluation;
}

StudySession::StudySession(SessionOptions options, std::unique_ptr<Search> search)
    : options_(std::move(options)), search_(std::move(search)) {}

Result<StudySession> StudySession::make(SessionOptions options, std::span<const Trial> past,
                                        const OnReplayed& on_replayed) {
  if (options.trials < 1) {
    return failure(ErrorCode::invalid_argument,
                   "trials: expected at least 1, found " + std::to_string(options.trials));
  }
  auto search = make_search(options.space, options.search);
  HOCKET_TRY(search);
  StudySession session(std::move(options), std::move(*search));
  HOCKET_TRY(session.replay(past, on_replayed));
  return session;
}

Result<void> StudySession::replay(std::span<const Trial> past, const OnReplayed& on_replayed) {
  std::vector<const Trial*> running;  // in the order in which they end
  const auto tell_until = [&](std::optional<std::int64_t> time) -> Result<void> {
    while (!running.empty() && (!time || running.front()->ended <= *time)) {
      const Trial& trial = *running.front();
      running.erase(running.begin());
      if (auto ok = tell(trial.params, trial.outcome); !ok) {
        return failure(ok.error().in("trial " + std::to_string(shown_number(trial))));
      }
    }
    return {};
  };
  std::int64_t next_number = 0;
  for (const Trial& trial : past) {
    const auto refuse = [&](const std::string& why) {
      return failure(ErrorCode::invalid_argument,
                     "trial " + std::to_string(shown_number(trial)) + ": " + why);
    };
    if (trial.number < next_number) return refuse("its number is not above that of the one before");
    auto params = options_.space.admit(trial.params);
    if (!params) return refuse(params.error().message);
    if (auto ok = tell_until(trial.began); !ok) return ok;
    const SessionNext next = trial.is_given ? SessionNext{*params, AskKind::given, kGiven}
                                            : ask_again(*params, trial.number - next_number);
    if (on_replayed) on_replayed(trial, next);
    next_number = trial.number + 1;
    outstanding_.insert(std::move(*params));
    if (is_running(trial)) continue;
    const auto place = std::ranges::upper_bound(running, trial.ended, {}, &Trial::ended);
    running.insert(place, &trial);
  }
  return tell_until(std::nullopt);
}

SessionNext StudySession::ask_again(const Params& params, std::int64_t lost_before) {
  if (is_known(params)) return {params, AskKind::given, kGiven};
  if (take(lost_, params) || take(spare_, params))
    return {params, AskKind::again, "asked before, and not run"};
  if (const auto recommended = due_recommendation()) {
    const bool is_it = recommended->params == params;
    return {recommended->params, AskKind::recommended,
            (is_it ? "what is recommended, tried before the end; "
                   : "another setting would be recommended now, since ") +
                recommended->reason};
  }
  return search_again(params, lost_before);
}

SessionNext StudySession::search_again(const Params& params, std::int64_t lost_before) {
  std::deque<Params> others;
  std::string reason;
  for (std::int64_t i = 0; i <= lost_before; ++i) {
    auto suggestion = search_->ask();
    if (!suggestion) break;
    reason = std::move(suggestion->reason);
    if (suggestion->params != params) {
      others.push_back(std::move(suggestion->params));
      continue;
    }
    if (suggestion->expected_improvement)
      expected_improvements_.push_back(*suggestion->expected_improvement);
    lost_.insert(lost_.end(), others.begin(), others.end());
    return {params, AskKind::search, std::move(reason)};
  }
  if (others.empty()) return nothing(kNotAsked, false);
  SessionNext next{others.back(), AskKind::search,
                   "another setting would be asked for now, since " + reason};
  spare_.push_back(std::move(others.back()));
  others.pop_back();
  lost_.insert(lost_.end(), others.begin(), others.end());
  return next;
}

std::optional<Recommendation> StudySession::recommend() const {
  auto recommended = search_->recommend();
  if (recommended)
    recommended->expected = cost(recommended->expected, direction_at(options_.directions, 0));
  return recommended;
}

bool StudySession::is_known(const Params& params) const {
  return outstanding_.contains(params) || told_.contains(params);
}

bool StudySession::is_last() const {
  return options_.trials > 1 &&
         told() + outstanding() + 1 == static_cast<std::size_t>(options_.trials);
}

std::optional<Recommendation> StudySession::due_recommendation() const {
  if (!is_last()) return std::nullopt;
  auto recommended = search_->recommend();
  if (recommended && is_known(recommended->params)) return std::nullopt;
  return recommended;
}

SessionNext StudySession::hand_out(Params params, AskKind kind, std::string reason) {
  outstanding_.insert(params);
  return {std::move(params), kind, std::move(reason)};
}

std::optional<SessionNext> StudySession::first_of(std::deque<Params>& queue, AskKind kind,
                                                  const char* reason,
                                                  const IsExcluded& is_excluded) {
  while (!queue.empty()) {
    Params params = std::move(queue.front());
    queue.pop_front();
    if (is_known(params) || (is_excluded && is_excluded(params))) continue;
    return hand_out(std::move(params), kind, reason);
  }
  return std::nullopt;
}

std::optional<SessionNext> StudySession::next_of_search(const IsExcluded& is_excluded) {
  while (auto suggestion = search_->ask()) {
    if (is_known(suggestion->params) || (is_excluded && is_excluded(suggestion->params))) continue;
    if (suggestion->expected_improvement)
      expected_improvements_.push_back(*suggestion->expected_improvement);
    return hand_out(std::move(suggestion->params), AskKind::search, std::move(suggestion->reason));
  }
  return std::nullopt;
}

SessionNext StudySession::ask(const IsExcluded& is_excluded) {
  if (end_ != SessionEnd::none) return nothing(end_reason_, outstanding_.empty());
  if (told() + outstanding() >= static_cast<std::size_t>(options_.trials)) {
    if (!outstanding_.empty()) return nothing("all trials are taken", false);
    finish(SessionEnd::trials, std::to_string(told()) + " trials were run");
    return nothing(end_reason_, true);
  }
  const char* const lost = "asked before, and not run";
  if (auto next = first_of(lost_, AskKind::again, lost, is_excluded)) return *std::move(next);
  if (auto next = first_of(preferred_, AskKind::preferred, "preferred", is_excluded))
    return *std::move(next);
  if (auto recommended = due_recommendation();
      recommended && !(is_excluded && is_excluded(recommended->params))) {
    return hand_out(std::move(recommended->params), AskKind::recommended,
                    "what is recommended, tried before the end; " + recommended->reason);
  }
  if (auto next = next_of_search(is_excluded)) return *std::move(next);
  if (auto next = first_of(spare_, AskKind::again, lost, is_excluded)) return *std::move(next);
  if (!outstanding_.empty()) return nothing("every setting is taken", false);
  finish(SessionEnd::space, "every setting was tried");
  return nothing(end_reason_, true);
}

Result<void> StudySession::tell(const Params& params, const TrialOutcome& outcome) {
  auto admitted = options_.space.admit(params);
  HOCKET_TRY(admitted);
  Evaluation evaluation = evaluation_of(*admitted, outcome, options_.directions);
  if (auto ok = search_->tell(evaluation); !ok) return ok;
  outstanding_.erase(*admitted);
  take(lost_, *admitted);
  told_.insert(std::move(*admitted));
  evaluations_.push_back(std::move(evaluation));
  note_best(outcome);
  look_for_end();
  return {};
}

void StudySession::note_best(const TrialOutcome& outcome) {
  const Evaluation& latest = evaluations_.back();
  if (!latest.value) return;
  if (outcome.samples.size() >= 2 && *latest.value != 0)
    noises_.push_back(latest.standard_error / std::abs(*latest.value));
  if (best_ && *latest.value >= *evaluations_[*best_].value) return;
  best_ = evaluations_.size() - 1;
  exposed_of_best_ = exposed_share(outcome);
}

void StudySession::look_for_end() {
  if (!options_.stop_early || options_.search.objectives > 1 || end_ != SessionEnd::none ||
      told() < static_cast<std::size_t>(options_.least_trials) ||
      told() >= static_cast<std::size_t>(options_.trials)) {
    return;
  }
  SearchProgress progress{.expected_improvements = expected_improvements_,
                          .regret_bound = {},
                          .noise = {},
                          .exposed = exposed_of_best_};
  if (const auto recommended = search_->recommend())
    progress.regret_bound = recommended->regret_bound;
  if (!noises_.empty()) progress.noise = median(noises_);
  for (const auto& rule : stop_rules()) {
    if (auto reason = rule->reason(progress)) return finish(SessionEnd::rule, std::move(*reason));
  }
}

void StudySession::finish(SessionEnd end, std::string reason) {
  end_ = end;
  end_reason_ = std::move(reason);
}

std::optional<Params> StudySession::worth_another_look(double value, double least_gain,
                                                       const IsExcluded& is_excluded) const {
  struct Looks {
    std::size_t count = 0;
    double weight = 0, sum = 0;
  };
  std::map<Params, Looks> looks;
  for (const Evaluation& evaluation : evaluations_) {
    Looks& of = looks[evaluation.params];
    ++of.count;
    if (!evaluation.value || !(evaluation.standard_error > 0)) continue;
    const double weight = 1 / (evaluation.standard_error * evaluation.standard_error);
    of.weight += weight;
    of.sum += weight * *evaluation.value;
  }
  std::optional<Params> best;
  double best_value = 0;
  for (const auto& [params, of] : looks) {
    if (of.count > kMostLooks || of.weight == 0) continue;
    const double expected = of.sum / of.weight;
    const bool may_gain = expected - kHopedErrors / std::sqrt(of.weight) < (1 - least_gain) * value;
    if (!may_gain || (best && best_value <= expected) || outstanding_.contains(params)) continue;
    if (is_excluded && is_excluded(params)) continue;
    best = params;
    best_value = expected;
  }
  return best;
}

void StudySession::give_back(const Params& params) {
  auto admitted = options_.space.admit(params);
  if (admitted && outstanding_.erase(*admitted) > 0) lost_.push_back(std::move(*admitted));
}

void StudySession::withdraw(const Params& params) {
  const auto admitted = options_.space.admit(params);
  if (!admitted) return;
  outstanding_.erase(*admitted);
  for (auto* queue : {&preferred_, &spare_}) std::erase(*queue, *admitted);
}

void StudySession::prefer(std::vector<Params> params) {
  for (const Params& each : params) {
    if (auto admitted = options_.space.admit(each)) preferred_.push_back(std::move(*admitted));
  }
}

Result<void> StudySession::start_from(Donor donor) {
  HOCKET_CHECK(told() == 1 && outstanding_.empty(),
               "a study starts from another after its default");
  options_.search.donor = std::move(donor);
  auto search = make_search(options_.space, options_.search);
  HOCKET_TRY(search);
  search_ = std::move(*search);
  // Any search asks for the default first.
  static_cast<void>(search_->ask());
  return search_->tell(evaluations_.front());
}

}  // namespace hocket
