#include "tuner/study/study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "tuner/study/confirmation.h"
#include "tuner/study/few_measurements.h"
#include "tuner/study/front_confirmation.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

/// A belief that is above a measurement by more than this share counts less than the measurement.
constexpr double kContradiction = 0.1;
/// A measurement beats another by more than the noise beyond so many standard errors of their
/// difference, and by this share where a run does not show its noise.
constexpr double kErrorsOfNoise = 2, kUnknownNoise = 0.01;

Error of_another_study(std::size_t number, const std::string& why) {
  return {ErrorCode::invalid_argument, "trial " + std::to_string(number) +
                                           " of the stored study: " + why +
                                           "; it belongs to another study"};
}

/// Returns the trials of the search in `history`, and those that still run, as they were asked and
/// told. The clock is the number of trials that have ended. An error names the trial that no study
/// of `space` has.
Result<std::vector<Trial>> searched(const std::vector<Trial>& history,
                                    const std::vector<Trial>& running, const Space& space) {
  std::vector<Trial> past;
  std::set<std::int64_t> numbers;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Trial& trial = history[i];
    const auto refuse = [&](const std::string& why) { return failure(of_another_study(i, why)); };
    const auto params = space.admit(trial.params);
    if (!params) return refuse(params.error().message);
    const auto place = static_cast<std::int64_t>(i);
    if (!numbers.insert(trial.number).second) return refuse("another one has its number");
    if (trial.began > place) {
      return refuse("it was asked for after " + std::to_string(trial.began) + " trials, and only " +
                    std::to_string(place) + " are before it");
    }
    if (is_running(trial)) return refuse("it has not finished");
    if (i == 0 && *params != space.defaults()) return refuse("not the default");
    if (trial.phase == TrialPhase::confirm) continue;
    if (past.size() < i) return refuse("a search after a confirmation");
    Trial& admitted = past.emplace_back(trial);
    admitted.params = *params;
    admitted.ended = place + 1;
  }
  for (const Trial& trial : running) {
    if (trial.phase == TrialPhase::search) past.push_back(trial);
  }
  std::ranges::stable_sort(past, {}, &Trial::number);
  return past;
}

class Study {
 public:
  Study(const StudyOptions& options, StudySession session, TrialCrew& crew, StudyObserver& observer,
        const CancelToken& cancel)
      : options_(options),
        session_(std::move(session)),
        crew_(crew),
        observer_(observer),
        cancel_(cancel),
        stopped_(options.stopped) {}

  /// Takes what the session has been through, and the confirmations behind it.
  Result<void> resume(std::vector<Trial> history, const std::vector<Trial>& running);
  Result<void> search();
  Result<void> confirm();
  StudyResult conclude();
  StudyResult interim();

 private:
  bool has_several_objectives() const { return options_.session.search.objectives > 1; }
  const Space& space() const { return session_.space(); }
  /// The time by the clock of run_study().
  std::int64_t now() const { return std::ssize(trials_); }
  /// Returns the cost of the first objective.
  double cost_of(const Trial& trial) const {
    return cost(*trial.outcome.value, direction_at(session_.directions(), 0));
  }
  /// The trial of the search with the lowest cost; null when nothing completed.
  const Trial* lowest() const;
  /// The winner of the search; null when nothing completed.
  const Trial* winner() const;
  /// The other setting that may be better than the winner (tuner/study/study.h); null if there is
  /// none.
  const Trial* rival() const;
  /// Returns whether a measured trial has less cost than another by more than the noise.
  bool beats(const Trial& one, const Trial& other) const;
  /// The setting that the search recommends, if its trial completed: the default where it is
  /// believed to be no worse.
  const Trial* believed_best(const Trial& measured) const;
  /// The setting that the confirmation runs next; nothing when it is over.
  std::optional<Params> next_of_confirmation() const;
  bool is_search_over() const;
  /// Goes on from the default, the only trial so far. Returns false if the search ends there.
  Result<bool> go_on_from_default();
  /// Starts what the search asks for, in as many places as are free. Returns false when it asks for
  /// nothing now.
  Result<bool> start_searches();
  /// Starts from an earlier study, if there is one.
  Result<void> take_donor();
  Result<void> stop(std::string reason);
  /// Starts a trial of this phase with these params, on its worker if that can be.
  Result<void> start(Trial trial, std::span<const double> incumbent = {});
  /// Waits for a trial to end, or for a place to come free.
  Result<void> wait();
  /// Takes the trials that have ended, without waiting.
  Result<void> take_ended();
  Result<void> check_cancel() const;
  /// Returns why no trial of this phase is to begin; empty if one may.
  std::string why_no_time(TrialPhase phase) const {
    return options_.why_no_time && !trials_.empty() ? options_.why_no_time(phase) : std::string();
  }

  const StudyOptions& options_;
  StudySession session_;
  TrialCrew& crew_;
  StudyObserver& observer_;
  const CancelToken& cancel_;
  std::vector<Trial> trials_;  ///< trials of the search first, in the order told to the session
  std::map<std::int64_t, Trial> running_;  ///< by their numbers
  std::vector<double> incumbent_;          ///< run with which the latest search is compared
  std::string stopped_;                    ///< as in StudyResult
};

Result<void> Study::resume(std::vector<Trial> history, const std::vector<Trial>& running) {
  for (Trial& trial : history) {
    auto params = space().admit(trial.params);
    HOCKET_TRY(params);
    trial.params = std::move(*params);
    trial.ended = now() + 1;
    if (trial.phase == TrialPhase::confirm && next_of_confirmation() != trial.params)
      return failure(of_another_study(trials_.size(), "a confirmation that was not due"));
    trials_.push_back(std::move(trial));
  }
  for (const Trial& trial : running) {
    auto params = space().admit(trial.params);
    HOCKET_TRY(params);
    Trial& kept = running_[trial.number] = trial;
    kept.params = std::move(*params);
  }
  return {};
}

Result<void> Study::check_cancel() const {
  if (!cancel_.cancelled()) return {};
  return failure(ErrorCode::interrupted, "the study was interrupted");
}

Result<void> Study::start(Trial trial, std::span<const double> incumbent) {
  HOCKET_TRY(check_cancel());
  const auto number = crew_.start(trial, incumbent);
  HOCKET_TRY(number);
  trial.number = *number;
  trial.began = now();
  const Trial& kept = running_[*number] = std::move(trial);
  return observer_.trial_started(kept.number, kept.phase, kept.params);
}

Result<void> Study::wait() {
  HOCKET_TRY(check_cancel());
  auto ended = crew_.wait();
  HOCKET_TRY(ended);
  if (!*ended) return {};
  const auto found = running_.find((*ended)->number);
  HOCKET_CHECK(found != running_.end(), "a trial ends once, after it was started");
  Trial trial = std::move(**ended);
  trial.outcome = finite_or_failed(std::move(trial.outcome));
  if (!options_.allows_fewer && !trials_.empty()) {
    const Direction direction = direction_at(session_.directions(), 0);
    if (auto why = few_measurements(trials_.front().outcome, trial.outcome, direction))
      set_failed(trial.outcome, std::move(*why));
  }
  trial.params = std::move(found->second.params);
  trial.began = found->second.began;
  trial.ended = now() + 1;
  running_.erase(found);
  HOCKET_TRY(observer_.trial_finished(trial));
  if (trial.phase == TrialPhase::search) HOCKET_TRY(session_.tell(trial.params, trial.outcome));
  trials_.push_back(std::move(trial));
  return {};
}

Result<void> Study::take_ended() {
  for (;;) {
    const auto has_ended = crew_.has_ended();
    HOCKET_TRY(has_ended);
    if (!*has_ended) return {};
    HOCKET_TRY(wait());
  }
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

bool Study::is_search_over() const {
  const auto confirms = [](const auto& trial) { return trial.phase == TrialPhase::confirm; };
  return !stopped_.empty() || (!trials_.empty() && confirms(trials_.back())) ||
         std::any_of(running_.begin(), running_.end(),
                     [&](const auto& entry) { return confirms(entry.second); });
}

Result<bool> Study::go_on_from_default() {
  if (options_.needs_default && !is_complete(trials_.front())) {
    HOCKET_TRY(stop("the default failed"));
    return false;
  }
  HOCKET_TRY(take_donor());
  return true;
}

Result<bool> Study::start_searches() {
  const auto places = crew_.free();
  HOCKET_TRY(places);
  // A confirmation compares whole runs, and so does a front.
  const bool may_end_early = options_.end_trials_early && !has_several_objectives();
  for (std::size_t i = 0; i < *places; ++i) {
    if (trials_.empty() && !running_.empty()) break;  // the default runs alone
    if (std::string why = why_no_time(TrialPhase::search); !why.empty()) {
      // The default alone decides nothing.
      if (trials_.size() == 1 && running_.empty())
        return failure(ErrorCode::timed_out, std::move(why));
      // It is no property of the search: a resumed study goes on with it.
      stopped_ = std::move(why);
      return false;
    }
    const SessionNext next = session_.ask();
    if (!next.params) return false;
    const Trial* const incumbent = may_end_early ? lowest() : nullptr;
    incumbent_ = incumbent ? whole_run(incumbent->outcome) : std::vector<double>();
    HOCKET_TRY(start({.phase = TrialPhase::search, .params = *next.params}, incumbent_));
  }
  return true;
}

Result<void> Study::search() {
  bool has_gone_on = trials_.size() != 1 || !running_.empty();
  while (!is_search_over()) {
    if (trials_.size() == 1 && !has_gone_on) {
      const auto goes_on = go_on_from_default();
      HOCKET_TRY(goes_on);
      if (!*goes_on) return {};
    }
    has_gone_on = !trials_.empty();
    const auto asks = start_searches();
    HOCKET_TRY(asks);
    if (!*asks && running_.empty() && !stopped_.empty()) return {};
    if (!*asks && running_.empty())
      return session_.end() == SessionEnd::rule ? stop(session_.end_reason()) : Result<void>();
    HOCKET_TRY(wait());
    // Trials that take equally long end at about the same time.
    HOCKET_TRY(take_ended());
  }
  return {};
}

const Trial* Study::lowest() const {
  const auto best = session_.best();
  return best ? &trials_[*best] : nullptr;
}

const Trial* Study::winner() const {
  const Trial* measured = lowest();
  if (!measured) return nullptr;
  const Trial* believed = believed_best(*measured);
  const double value = cost_of(*believed);
  const bool contradicted = cost_of(*measured) < value - kContradiction * std::abs(value);
  if (contradicted) return measured;
  // The confirmation compares the two anyway when one of them is the default.
  const bool is_default = believed == &trials_.front();
  return options_.compares_measured && is_default && beats(*measured, *believed) ? measured
                                                                                 : believed;
}

bool Study::beats(const Trial& one, const Trial& other) const {
  const auto cost = evaluation_of(one.params, one.outcome, session_.directions());
  const auto than = evaluation_of(other.params, other.outcome, session_.directions());
  double noise = kErrorsOfNoise * std::hypot(cost.standard_error, than.standard_error);
  if (std::min(one.outcome.samples.size(), other.outcome.samples.size()) < 2)
    noise = std::max(noise, kUnknownNoise * std::abs(*than.value));
  return *cost.value < *than.value - noise;
}

const Trial* Study::rival() const {
  const Trial* const best = winner();
  if (!options_.compares_measured || !best || best == &trials_.front()) return nullptr;
  const Trial* const measured = lowest();
  const Trial* const believed = believed_best(*measured);
  const Trial* const other = best == measured ? believed : measured;
  if (other == best || other == &trials_.front() || !beats(*measured, *believed)) return nullptr;
  return other;
}

const Trial* Study::believed_best(const Trial& measured) const {
  const auto recommended = session_.recommend();
  if (!recommended) return &measured;
  if (is_complete(trials_.front())) {
    const double by_default = cost_of(trials_.front());
    const double expected = cost(recommended->expected, direction_at(session_.directions(), 0));
    if (expected >= by_default - 1e-9 * std::abs(by_default)) return &trials_.front();
  }
  for (const Trial& trial : trials_) {
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
  return Confirmation(trials_, *best, rival(), options_).next();
}

Result<void> Study::confirm() {
  for (;;) {
    if (running_.empty()) {
      const auto params = next_of_confirmation();
      if (!params) return {};
      if (std::string why = why_no_time(TrialPhase::confirm); !why.empty())
        return failure(ErrorCode::timed_out, std::move(why));
      const auto places = crew_.free();
      HOCKET_TRY(places);
      // All on one worker, so that it is not workers that are compared.
      const auto& last = trials_.back();
      const bool has_begun = last.phase == TrialPhase::confirm;
      if (*places > 0) {
        HOCKET_TRY(start({.phase = TrialPhase::confirm,
                          .params = *params,
                          .worker = has_begun ? last.worker : std::string()}));
      }
    }
    HOCKET_TRY(wait());
  }
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
    const Confirmation confirmation(trials_, *best, rival(), options_);
    result.default_params = confirmation.measured(trials_.front());
    result.best = confirmation.measured(confirmation.best());
    confirmation.decide(result);
  }
  result.stopped = std::move(stopped_);
  result.trials = std::move(trials_);
  return result;
}

StudyResult Study::interim() {
  StudyResult result;
  result.is_interim = true;
  result.default_params = {trials_.front().params, std::nullopt};
  result.best = result.default_params;
  const auto* const best = winner();
  if (!best) {
    result.reason = "no trial has completed yet";
  } else if (has_several_objectives()) {
    const FrontConfirmation confirmation(trials_, options_);
    result.default_params = confirmation.default_params();
    result.front = confirmation.points();
    result.best = result.front.front().measured;
    result.reason = "the study has not ended";
  } else {
    const Confirmation confirmation(trials_, *best, rival(), options_);
    result.default_params = confirmation.measured(trials_.front());
    result.best = confirmation.measured(*best);
    result.reason = best == &trials_.front()
                        ? "nothing better than the default was measured so far"
                        : "the recommended setting is not confirmed against the default yet";
  }
  result.stopped = std::move(stopped_);
  result.trials = std::move(trials_);
  return result;
}

/// Runs nothing: for looking at a study.
class NoCrew final : public TrialCrew {
 public:
  Result<std::vector<Trial>> running() override { return std::vector<Trial>(); }
  Result<std::size_t> free() override { return std::size_t{0}; }
  Result<std::int64_t> start(const Trial&, std::span<const double>) override { return refusal(); }
  Result<std::optional<Trial>> wait() override { return refusal(); }

 private:
  static tl::unexpected<Error> refusal() {
    return failure(ErrorCode::invalid_argument, "this study is only looked at");
  }
};

class NoObserver final : public StudyObserver {
 public:
  Result<void> trial_started(std::int64_t, TrialPhase, const Params&) override { return {}; }
  Result<void> trial_finished(const Trial&) override { return {}; }
  Result<void> search_stopped(const std::string&) override { return {}; }
};

}  // namespace

StudyOptions study_options(const StudyDefinition& definition) {
  return {.session = session_options(definition),
          .confirm_pairs = static_cast<int>(definition.confirm_pairs),
          .allows_fewer = definition.allows_fewer,
          .end_trials_early = definition.end_trials_early,
          .needs_default = definition.needs_default,
          .stopped = definition.stopped,
          .default_is_assumed = !assumed_parameters(definition.default_sources).empty(),
          .compares_measured = definition.compares_measured};
}

Result<StudyResult> interim_result(const StudyOptions& options, std::vector<Trial> history) {
  if (history.empty()) return failure(ErrorCode::not_found, "no trial has ended yet");
  const auto past = searched(history, {}, options.session.space);
  HOCKET_TRY(past);
  auto session = StudySession::make(options.session, *past);
  HOCKET_TRY(session);
  NoCrew crew;
  NoObserver observer;
  const CancelToken cancel;
  Study study(options, std::move(*session), crew, observer, cancel);
  HOCKET_TRY(study.resume(std::move(history), {}));
  return study.interim();
}

Result<StudyResult> run_study(const StudyOptions& options, std::vector<Trial> history,
                              TrialCrew& crew, StudyObserver& observer, const CancelToken& cancel) {
  if (options.confirm_pairs < 0) {
    return failure(ErrorCode::invalid_argument, "confirmation pairs: expected at least 0, found " +
                                                    std::to_string(options.confirm_pairs));
  }
  const auto running = crew.running();
  HOCKET_TRY(running);
  const auto past = searched(history, *running, options.session.space);
  HOCKET_TRY(past);
  auto session = StudySession::make(options.session, *past);
  HOCKET_TRY(session);
  Study study(options, std::move(*session), crew, observer, cancel);
  HOCKET_TRY(study.resume(std::move(history), *running));
  HOCKET_TRY(study.search());
  HOCKET_TRY(study.confirm());
  return study.conclude();
}

Result<StudyResult> run_study(const StudyOptions& options, std::vector<Trial> history,
                              TrialRunner& runner, StudyObserver& observer,
                              const CancelToken& cancel) {
  std::int64_t next_number = 0;
  for (const Trial& trial : history) next_number = std::max(next_number, trial.number + 1);
  SerialCrew crew(runner, next_number);
  return run_study(options, std::move(history), crew, observer, cancel);
}

}  // namespace hocket
