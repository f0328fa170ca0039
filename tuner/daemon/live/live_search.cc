#include "tuner/daemon/live/live_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/step/knob_value.h"
#include "tuner/archive/told_trial.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// Returns `domain` with `value` in it, if it is one of levels.
Domain including(Domain domain, const ParameterValue& value) {
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

}  // namespace

Result<StudyDefinition> live_definition(const JobDescription& job) {
  if (job.knobs.empty()) {
    return failure(ErrorCode::invalid_argument, "the job can change no knob while it runs");
  }
  auto parameters = schedule_parameters(job.knobs);
  HOCKET_TRY(parameters);
  const nlohmann::json config = to_json(job.config);
  for (Parameter& parameter : *parameters) {
    const auto value = read_knob(config, parameter.name);
    HOCKET_TRY(value);
    parameter.default_value = value->word.empty() ? ParameterValue(value->number)
                                                  : ParameterValue(std::string(value->word));
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
  definition.step = job.step;
  definition.working_directory = "/";
  HOCKET_TRY(validate(definition));
  return definition;
}

Result<StudySession> live_session(const StudyDefinition& definition,
                                  std::span<const TrialRow> trials,
                                  std::optional<std::int64_t> offered) {
  std::vector<SessionTrial> past;
  for (const TrialRow& row : trials) {
    if (row.state == TrialState::running && row.id != offered) continue;
    auto trial = session_trial(row);
    if (!trial || !definition.space.admit(trial->params)) continue;
    trial->is_given = row.worker.empty();
    past.push_back(std::move(*trial));
  }
  return StudySession::make(session_options(definition), past);
}

}  // namespace hocket
