#include "tuner/daemon/live/live_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tuner/search/stop_rule.h"
#include "tuner/space/schedule_space.h"
#include "tuner/study/study.h"

namespace hocket {
namespace {

/// `domain` with `value` in it, if it is one of levels.
Domain including(Domain domain, const ParameterValue& value) {
  auto* levels = std::get_if<Levels>(&domain);
  if (!levels || std::ranges::find(levels->values, value) != levels->values.end()) return domain;
  levels->values.insert(std::ranges::upper_bound(levels->values, value), value);
  return domain;
}

/// The integers up to `value`, too.
Domain reaching(Domain domain, const ParameterValue& value) {
  auto* range = std::get_if<IntegerRange>(&domain);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (!range || !number) return domain;
  range->low = std::min(range->low, *number);
  range->high = std::max(range->high, *number);
  return domain;
}

}  // namespace

Params params_of(const ScheduleConfig& config, const Space& space) {
  const nlohmann::json document = to_json(config);
  Params params;
  for (const Parameter& parameter : space.parameters()) {
    const auto& value = document.at(parameter.name);
    if (value.is_string()) {
      params[parameter.name] = value.get<std::string>();
    } else {
      params[parameter.name] = value.get<std::int64_t>();
    }
  }
  return params;
}

Result<ScheduleConfig> with_params(const ScheduleConfig& base, const Params& params) {
  nlohmann::json document = to_json(base);
  for (const auto& [name, value] : params) document[name] = to_json(value);
  return schedule_config_from_json(document);
}

Result<StudyDefinition> live_definition(const JobDescription& job) {
  if (job.knobs.empty()) {
    return failure(ErrorCode::invalid_argument, "the job can change no knob while it runs");
  }
  auto parameters = schedule_parameters(job.knobs);
  if (!parameters) return failure(parameters.error());
  const nlohmann::json config = to_json(job.config);
  for (Parameter& parameter : *parameters) {
    const auto& value = config.at(parameter.name);
    parameter.default_value = value.is_string() ? ParameterValue(value.get<std::string>())
                                                : ParameterValue(value.get<std::int64_t>());
    parameter.domain = reaching(including(std::move(parameter.domain), parameter.default_value),
                                parameter.default_value);
  }
  auto space = Space::make(std::move(*parameters));
  if (!space) return failure(space.error());
  const auto objective = parse_objective("report");
  if (!objective) return failure(objective.error());
  StudyDefinition definition{.space = std::move(*space), .objective = *objective};
  definition.trials = kLiveTrials;
  definition.stop_early = true;
  definition.step = job.step;
  definition.working_directory = "/";
  if (auto ok = validate(definition); !ok) return failure(ok.error());
  return definition;
}

LiveSearch::LiveSearch(Space space, std::unique_ptr<Search> search, std::deque<Params> first)
    : space_(std::move(space)), search_(std::move(search)), first_(std::move(first)) {}

Result<LiveSearch> LiveSearch::make(const StudyDefinition& definition, std::vector<Params> first) {
  SearchOptions options{.method = definition.method,
                        .seed = static_cast<std::uint64_t>(definition.seed),
                        .step = definition.step};
  auto search = make_search(definition.space, std::move(options));
  if (!search) return failure(search.error());
  return LiveSearch(definition.space, std::move(*search), {first.begin(), first.end()});
}

bool LiveSearch::was_told(const Params& params) const {
  return std::ranges::find(told_, params, &Evaluation::params) != told_.end();
}

Result<void> LiveSearch::tell(const Evaluation& evaluation) {
  if (auto ok = search_->tell(evaluation); !ok) return ok;
  told_.push_back(evaluation);
  look_for_end();
  return {};
}

void LiveSearch::look_for_end() {
  if (!finished_.empty()) return;
  if (told_.size() >= static_cast<std::size_t>(kLiveTrials)) {
    finished_ = std::to_string(told_.size()) + " settings were tried";
    return;
  }
  if (told_.size() < static_cast<std::size_t>(kLeastTrials)) return;
  SearchProgress progress{.expected_improvements = expected_improvements_};
  if (const auto recommended = search_->recommend()) {
    progress.regret_bound = recommended->regret_bound;
  }
  double least = 0;
  for (const Evaluation& evaluation : told_) {
    if (!evaluation.value || *evaluation.value <= 0) continue;
    if (least != 0 && *evaluation.value >= least) continue;
    least = *evaluation.value;
    progress.noise = evaluation.standard_error > 0
                         ? std::optional(evaluation.standard_error / least)
                         : std::nullopt;
  }
  for (const auto& rule : stop_rules()) {
    if (auto reason = rule->reason(progress)) {
      finished_ = *reason;
      return;
    }
  }
}

std::optional<Suggestion> LiveSearch::ask(const std::function<bool(const Params&)>& is_excluded) {
  while (finished_.empty() && !first_.empty()) {
    const Params params = std::exchange(first_.front(), {});
    first_.pop_front();
    const auto admitted = space_.admit(params);
    if (admitted && !was_told(*admitted) && !is_excluded(*admitted)) {
      return Suggestion{*admitted, "what is good for the nearest job"};
    }
  }
  while (finished_.empty()) {
    auto suggestion = search_->ask();
    if (!suggestion) {
      finished_ = "every setting was tried";
      break;
    }
    if (was_told(suggestion->params) || is_excluded(suggestion->params)) continue;
    if (suggestion->expected_improvement) {
      expected_improvements_.push_back(*suggestion->expected_improvement);
    }
    return suggestion;
  }
  return std::nullopt;
}

}  // namespace hocket
