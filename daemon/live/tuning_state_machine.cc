#include "daemon/live/tuning_state_machine.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket::tuning {
namespace {

using Kind = Action::Kind;

std::vector<double> numbers(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

bool is_fit(const State& state, const Sight& sight) {
  const Explorer* const explorer = state.explorer();
  return explorer && sight.has_explorer && !state.left_alone.contains(explorer->job);
}

bool is_late(const State& state, const Sight& sight) {
  const auto* const candidate = state.candidate();
  return candidate && sight.now_ns - candidate->since_ns > kAnswerLimitNs;
}

Action due_answer(const Asking& asking, const SearchAnswer& answer) {
  if (answer.kind == SearchAnswer::Kind::error) {
    return {.kind = Kind::fail_search, .reason = answer.reason};
  }
  // The search has excluded what the explorer had when it was asked.
  const bool is_current = asking.base == asking.explorer.config && asking.explorer.value_ns > 0;
  if (!is_current) return {.kind = Kind::return_answer};
  if (answer.kind == SearchAnswer::Kind::candidate) return {.kind = Kind::offer};
  return {.kind = Kind::end_search, .reason = answer.reason};
}

/// Returns the action that explores further, from a fit explorer that is allowed to.
std::optional<Action> due_exploration(const State& state, const Sight& sight) {
  if (std::holds_alternative<Waiting>(state.at)) {
    const bool is_new = state.learned == Learned::dropped;
    return Action{.kind = is_new ? Kind::begin_study : Kind::resume_study};
  }
  if (const auto* at = std::get_if<Measuring>(&state.at)) {
    if (at->explorer.latest_ns.size() < kBaselineIterations) return std::nullopt;
    return Action{.kind = Kind::tell_baseline};
  }
  if (std::holds_alternative<Ready>(state.at)) return Action{.kind = Kind::ask};
  if (const auto* at = std::get_if<Settled>(&state.at); at && at->may_reopen) {
    const DriftDetector& seen = at->explorer.drift;
    auto why =
        why_search_again(at->search, {seen.level_ns(), seen.needed_share()}, sight.now_unix_ns);
    if (why) return Action{.kind = Kind::reopen_search, .reason = std::move(*why)};
  }
  const auto* asking = std::get_if<Asking>(&state.at);
  if (asking && sight.answer) return due_answer(*asking, *sight.answer);
  return std::nullopt;
}

template <class At>
At& in_state(State& state) {
  At* const at = std::get_if<At>(&state.at);
  HOCKET_CHECK(at, "the event cannot happen in this state");
  return *at;
}

Explorer& explorer_in(State& state) {
  auto* const explorer = const_cast<Explorer*>(state.explorer());
  HOCKET_CHECK(explorer, "the event needs an explorer");
  return *explorer;
}

/// Moves to the state of a study without a candidate.
void rest(State& state, Explorer explorer, OpenStudy study) {
  if (explorer.value_ns > 0) {
    state.at = Ready{std::move(explorer), std::move(study)};
  } else {
    state.at = Measuring{std::move(explorer), std::move(study)};
  }
}

void forget_value(Explorer& explorer) {
  explorer.value_ns = 0;
  explorer.latest_ns.clear();
}

void see_config(State& state, Explorer& explorer, const ScheduleConfig& config) {
  if (explorer.config == config) return;
  explorer.config = config;
  forget_value(explorer);
  explorer.drift.restart();
  // The recorded time is that of the configuration before.
  if (auto* at = std::get_if<Settled>(&state.at)) at->search.recorded_ns = 0;
  if (auto* at = std::get_if<Ready>(&state.at)) {
    rest(state, std::move(at->explorer), std::move(at->study));
  }
}

void add_iteration(State& state, double wall_ns) {
  Explorer& explorer = explorer_in(state);
  if (explorer.value_ns == 0) {
    auto& latest = explorer.latest_ns;
    if (latest.size() >= kBaselineIterations) latest.erase(latest.begin());
    latest.push_back(wall_ns);
  }
  if (!explorer.drift.add(wall_ns)) return;
  state.drift =
      FoundDrift{explorer.job, explorer.drift.drifted_from_ns(), explorer.drift.drifted_to_ns()};
  forget_value(explorer);
  if (auto* at = std::get_if<Ready>(&state.at)) {
    rest(state, std::move(at->explorer), std::move(at->study));
  }
}

void take_outcome(State& state, const std::string& job, const ChangeOutcome& outcome) {
  if (auto* at = std::get_if<Idle>(&state.at)) {
    at->early = {job, outcome};
  } else if (auto* at = std::get_if<Waiting>(&state.at)) {
    if (at->explorer.job == job) at->early = {job, outcome};
  } else if (auto* at = std::get_if<Trying>(&state.at)) {
    if (at->explorer.job == job && at->candidate.trial == outcome.trial) at->outcome = outcome;
  }
}

void apply(State& state, const JobReported& event) {
  const JobReport& report = event.report;
  for (const ChangeOutcome& outcome : report.outcomes) {
    // A job that ends has not refused a candidate for which it had no time.
    const bool is_untried = report.ended && outcome.status == ChangeStatus::rejected;
    if (outcome.trial && !is_untried) take_outcome(state, report.job, outcome);
  }
  const Explorer* const explorer = state.explorer();
  if (!explorer || explorer->job != report.job) return;
  see_config(state, explorer_in(state), event.config);
  // A configuration that was applied just now is not that of the iterations.
  const bool has_changed =
      std::ranges::count(report.outcomes, ChangeStatus::applied, &ChangeOutcome::status) > 0;
  if (has_changed) return;
  for (const std::int64_t wall_ns : report.iteration_ns) {
    add_iteration(state, static_cast<double>(wall_ns));
  }
}

void apply(State& state, const ConfigSeen& event) {
  see_config(state, explorer_in(state), event.config);
}

void apply(State& state, const JobsForgotten& event) {
  for (const std::string& job : event.jobs) state.left_alone.erase(job);
}

void apply(State& state, const LeftAlone&) {
  state.left_alone.insert(explorer_in(state).job);
}

void apply(State& state, const ExplorerChanged& event) {
  HOCKET_CHECK(!state.study(), "a study ends before its explorer is replaced");
  std::optional<EarlyOutcome> early;
  if (auto* at = std::get_if<Idle>(&state.at)) early = std::move(at->early);
  if (auto* at = std::get_if<Waiting>(&state.at)) early = std::move(at->early);
  if (event.next) {
    state.at = Waiting{
        {.job = event.next->job, .config = event.next->config, .number = event.next->number},
        std::move(early)};
  } else {
    state.at = Idle{std::move(early)};
  }
}

void apply(State& state, const DriftRecorded&) {
  state.drift.reset();
  state.learned = Learned::outdated;
}

void apply(State& state, const QuarantineLifted&) {
  state.learned = Learned::dropped;
  if (auto* at = std::get_if<Settled>(&state.at)) {
    state.at = Waiting{std::move(at->explorer)};
  }
}

void apply(State& state, const StudyOpened& event) {
  auto& [explorer, early] = in_state<Waiting>(state);
  explorer.value_ns = event.value_ns;
  if (explorer.value_ns > 0) explorer.latest_ns.clear();
  state.learned = Learned::holds;
  if (!event.candidate) return rest(state, std::move(explorer), event.study);
  const bool is_answered =
      early && early->job == explorer.job && early->outcome.trial == event.candidate->trial;
  auto outcome = is_answered ? std::optional(std::move(early->outcome)) : std::nullopt;
  state.at = Trying{std::move(explorer), event.study, *event.candidate, std::move(outcome)};
}

void apply(State& state, const NothingToSearch& event) {
  state.at = Settled{std::move(in_state<Waiting>(state).explorer), event.search, true};
}

void apply(State& state, const SearchReopened&) {
  in_state<Settled>(state).may_reopen = false;
  state.learned = Learned::outdated;
}

void apply(State& state, const StudyEnded& event) {
  HOCKET_CHECK(state.study(), "a study runs");
  if (event.is_settled) {
    state.at = Settled{std::move(explorer_in(state)), event.search};
  } else {
    state.at = Waiting{std::move(explorer_in(state))};
  }
}

void apply(State& state, const StudyRemoved&) {
  HOCKET_CHECK(state.study(), "a study runs");
  Explorer& explorer = explorer_in(state);
  if (auto* at = std::get_if<Trying>(&state.at)) {
    const bool is_kept = at->outcome && at->outcome->status == ChangeStatus::applied;
    if (is_kept) see_config(state, explorer, at->candidate.config);
  }
  forget_value(explorer);
  state.at = Waiting{std::move(explorer)};
}

void apply(State& state, const BaselineTold& event) {
  auto& [explorer, study] = in_state<Measuring>(state);
  explorer.value_ns = event.value_ns;
  explorer.latest_ns.clear();
  rest(state, std::move(explorer), std::move(study));
}

void apply(State& state, const SearchAsked&) {
  auto& [explorer, study] = in_state<Ready>(state);
  ScheduleConfig base = explorer.config;
  state.at = Asking{std::move(explorer), std::move(study), std::move(base)};
}

void apply(State& state, const AnswerDropped&) {
  auto& at = in_state<Asking>(state);
  rest(state, std::move(at.explorer), std::move(at.study));
}

void apply(State& state, const CandidateOffered& event) {
  auto& at = in_state<Asking>(state);
  state.at = Trying{std::move(at.explorer), std::move(at.study), event.candidate};
}

void apply(State& state, const CandidateEnded& event) {
  auto& [explorer, study, candidate, outcome] = in_state<Trying>(state);
  const Conclusion& conclusion = event.conclusion;
  if (conclusion.is_kept) {
    explorer.config = candidate.config;
    explorer.value_ns = event.value_ns;
    explorer.latest_ns.clear();
    explorer.drift.restart(conclusion.candidate_ns);
  }
  if (conclusion.is_measured()) {
    explorer.rejections = 0;
  } else if (!conclusion.is_kept && ++explorer.rejections >= kMostRejections) {
    state.left_alone.insert(explorer.job);
  }
  rest(state, std::move(explorer), std::move(study));
}

}  // namespace

const Explorer* State::explorer() const {
  return std::visit(
      [](const auto& each) -> const Explorer* {
        if constexpr (requires { each.explorer; }) return &each.explorer;
        return nullptr;
      },
      at);
}

const OpenStudy* State::study() const {
  return std::visit(
      [](const auto& each) -> const OpenStudy* {
        if constexpr (requires { each.study; }) return &each.study;
        return nullptr;
      },
      at);
}

const Candidate* State::candidate() const {
  const auto* const trying = std::get_if<Trying>(&at);
  return trying ? &trying->candidate : nullptr;
}

std::string_view to_string(const State& state) {
  constexpr std::string_view kNames[] = {"idle",   "waiting", "measuring", "ready",
                                         "asking", "trying",  "settled"};
  static_assert(std::size(kNames) == std::variant_size_v<decltype(State::at)>);
  return kNames[state.at.index()];
}

bool needs_other(const State& state, const Sight& sight) {
  return is_fit(state, sight) ? is_late(state, sight) : !state.study();
}

std::optional<Action> due(const State& state, const Sight& sight) {
  const auto* const trying = std::get_if<Trying>(&state.at);
  if (trying && trying->outcome) return Action{.kind = Kind::conclude};
  if (!is_fit(state, sight)) {
    if (state.study()) {
      return Action{Kind::end_study, StudyState::interrupted, "its job is gone, or left alone"};
    }
    if (!state.explorer() && !sight.other) return std::nullopt;
    return Action{.kind = Kind::change_explorer};
  }
  if (is_late(state, sight) && sight.other) return Action{.kind = Kind::leave_alone};
  if (state.drift) return Action{.kind = Kind::record_drift};
  if (state.learned == Learned::outdated && !trying) {
    if (!state.study()) return Action{.kind = Kind::lift_quarantine};
    return Action{Kind::end_study, StudyState::finished, "the time of an iteration drifted"};
  }
  return sight.may_explore ? due_exploration(state, sight) : std::nullopt;
}

Conclusion conclusion_of(const Trying& trying, const ScheduleConfig* runs_with) {
  HOCKET_CHECK(trying.outcome, "the job has answered");
  const ChangeOutcome& outcome = *trying.outcome;
  Conclusion conclusion;
  // A job that is offered the configuration it has kept refuses it.
  const bool has_it = runs_with && *runs_with == trying.candidate.config;
  const bool is_rejected = outcome.status == ChangeStatus::rejected;
  conclusion.is_kept = outcome.status == ChangeStatus::applied || (is_rejected && has_it);
  if (outcome.candidate_ns.empty() || outcome.current_ns.empty()) return conclusion;
  conclusion.candidate_ns = numbers(outcome.candidate_ns);
  conclusion.current_ns = numbers(outcome.current_ns);
  if (is_rejected) return conclusion;
  const double current = median(conclusion.current_ns);
  const double value_ns = trying.explorer.value_ns;
  const double scale = value_ns == 0 ? 1 : value_ns / current;
  conclusion.samples_ns = conclusion.candidate_ns;
  for (double& sample : conclusion.samples_ns) sample *= scale;
  conclusion.is_slower = !conclusion.is_kept && outcome.slower;
  return conclusion;
}

State after(State state, const Event& event) {
  std::visit([&](const auto& each) { apply(state, each); }, event);
  return state;
}

}  // namespace hocket::tuning
