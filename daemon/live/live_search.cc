#include "daemon/live/live_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/studies/told_trial.h"
#include "core/step/declared_knob.h"
#include "core/step/knob.h"
#include "core/step/knob_value.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// Returns `domain` with `value` in it, if it is one of levels or choices.
Domain including(Domain domain, const ParameterValue& value) {
  if (auto* choices = std::get_if<Choices>(&domain)) {
    const auto& word = std::get<std::string>(value);
    if (std::ranges::count(choices->names, word) == 0) choices->names.push_back(word);
    return domain;
  }
  auto* levels = std::get_if<Levels>(&domain);
  if (!levels || std::ranges::find(levels->values, value) != levels->values.end()) return domain;
  levels->values.insert(std::ranges::upper_bound(levels->values, value), value);
  return domain;
}

/// Returns `domain` with the integers up to `value`, if it is a range of integers.
Domain reaching(Domain domain, const ParameterValue& value) {
  auto* range = std::get_if<IntegerRange>(&domain);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (!range || !number) return domain;
  range->low = std::min(range->low, *number);
  range->high = std::max(range->high, *number);
  return domain;
}

/// Returns the knob called `name`, of the scheduler or of the job's own; valid while `job` is.
std::optional<Knob> knob_of(const JobDescription& job, const std::string& name) {
  if (const Knob* const knob = find_knob(name)) return *knob;
  const DeclaredKnob* const declared = find_declared(job.workload.knobs, name);
  return declared ? std::optional(as_knob(*declared)) : std::nullopt;
}

/// Returns the values of the knob `name` to which the job can change. A job that does not say, and
/// has no description of its step, has no order to run order=static with.
std::optional<KnobValues> values_of(const JobDescription& job, const std::string& name) {
  auto values = running_values(job.can_run, job.knobs, name);
  if (!values || job.can_run.says_running() || job.step || name != "order") return values;
  for (const std::string_view word : find_knob(name)->choices) {
    if (word != to_string(CollectiveOrder::static_order)) values->words.emplace_back(word);
  }
  return values;
}

/// Returns the values of `domain`, which is of the knob `knob`, that are in `values`.
Domain within(Domain domain, const Knob& knob, const KnobValues& values) {
  if (auto* choices = std::get_if<Choices>(&domain)) {
    std::erase_if(choices->names,
                  [&](const std::string& word) { return !values.contains({.word = word}); });
    return domain;
  }
  if (!values.numbers.empty()) {
    Levels levels;
    for (const std::int64_t number : std::set(values.numbers.begin(), values.numbers.end())) {
      levels.values.emplace_back(number);
    }
    return levels;
  }
  const std::int64_t low = values.low.value_or(knob.low), high = values.high.value_or(knob.high);
  if (auto* levels = std::get_if<Levels>(&domain)) {
    std::erase_if(levels->values, [&](const ParameterValue& value) {
      return !values.contains({.number = std::get<std::int64_t>(value)});
    });
    if (levels->values.size() < 2) return IntegerRange{low, high, low > 0};
    return domain;
  }
  auto& range = std::get<IntegerRange>(domain);
  if (range.high < low || range.low > high) return IntegerRange{low, high, range.log};
  range.low = std::max(range.low, low);
  range.high = std::min(range.high, high);
  return domain;
}

/// Returns the default with each of the job's own knobs of two words set to the other one, in turn.
std::vector<Params> with_switches_turned(const Space& space) {
  std::vector<Params> turned;
  for (const Parameter& parameter : space.parameters()) {
    const auto* choices = std::get_if<Choices>(&parameter.domain);
    if (choices == nullptr || choices->names.size() != 2 || !is_job_knob(parameter.name)) continue;
    for (const std::string& word : choices->names) {
      if (ParameterValue(word) == parameter.default_value) continue;
      Params params = space.defaults();
      params[parameter.name] = word;
      turned.push_back(std::move(params));
    }
  }
  return turned;
}

bool has_choice(const Knob& knob, const KnobValues& values) {
  if (!knob.choices.empty()) return values.words.empty() || values.words.size() > 1;
  if (!values.numbers.empty()) return values.numbers.size() > 1;
  return values.low.value_or(knob.low) < values.high.value_or(knob.high);
}

}  // namespace

std::vector<std::string> searched_knobs(const JobDescription& job) {
  std::vector<std::string> names;
  for (const std::string& name : job.knobs) {
    const auto values = values_of(job, name);
    const auto knob = knob_of(job, name);
    // A name that does not exist is for schedule_parameters() to refuse.
    if (!knob || (values && has_choice(*knob, *values))) names.push_back(name);
  }
  return names;
}

Result<StudyDefinition> live_definition(const JobDescription& job) {
  const auto knobs = searched_knobs(job);
  if (knobs.empty()) {
    return failure(ErrorCode::invalid_argument, "the job can change no knob while it runs");
  }
  auto parameters = schedule_parameters(knobs, job.workload.knobs);
  HOCKET_TRY(parameters);
  const nlohmann::json config = to_json(with_declared_defaults(job.config, job.workload.knobs));
  for (Parameter& parameter : *parameters) {
    const auto value = read_knob(config, parameter.name);
    HOCKET_TRY(value);
    parameter.default_value =
        value->word.empty() ? ParameterValue(value->number) : ParameterValue(value->word);
    parameter.domain = within(std::move(parameter.domain), *knob_of(job, parameter.name),
                              *values_of(job, parameter.name));
    parameter.domain = reaching(including(std::move(parameter.domain), parameter.default_value),
                                parameter.default_value);
  }
  auto space = Space::make(std::move(*parameters));
  HOCKET_TRY(space);
  const auto objective = parse_objective("report");
  HOCKET_TRY(objective);
  StudyDefinition definition{.space = std::move(*space), .objective = *objective};
  definition.trials = kLiveTrials;
  definition.stop_early = true;
  const auto is_own = [](const std::string& knob) { return find_knob(knob) == nullptr; };
  if (std::ranges::all_of(knobs, is_own)) definition.least_trials = kLeastLiveTrials;
  definition.step = job.step;
  definition.working_directory = "/";
  HOCKET_TRY(validate(definition));
  return definition;
}

std::optional<Donor> predicted_donor(const JobDescription& job, const Space& space) {
  Donor donor{.study = "what the job predicts"};
  for (const PredictedTime& prediction : job.predictions) {
    const auto params =
        params_of(with_declared_defaults(prediction.config, job.workload.knobs), space);
    if (!params || !space.admit(*params)) continue;
    donor.evaluations.push_back(
        {.params = *params, .value = static_cast<double>(prediction.iteration_ns)});
  }
  if (donor.evaluations.empty()) return std::nullopt;
  return donor;
}

Result<StudySession> live_session(const StudyDefinition& definition,
                                  std::span<const TrialRow> trials,
                                  std::optional<std::int64_t> offered) {
  std::vector<Trial> past;
  for (const TrialRow& row : trials) {
    if (row.state == TrialState::running && row.id != offered) continue;
    auto trial = trial_of(row);
    if (!trial || !definition.space.admit(trial->params)) continue;
    trial->is_given = row.worker.empty();
    past.push_back(std::move(*trial));
  }
  auto session = StudySession::make(session_options(definition), past);
  if (session) session->prefer(with_switches_turned(definition.space));
  return session;
}

}  // namespace hocket
