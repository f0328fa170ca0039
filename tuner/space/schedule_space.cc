#include "tuner/space/schedule_space.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/step/knob.h"
#include "core/step/knob_value.h"

namespace hocket {
namespace {

Domain allowed(const Knob& knob) {
  if (knob.choices.empty()) return IntegerRange{knob.low, knob.high, knob.log};
  return Choices{{knob.choices.begin(), knob.choices.end()}};
}

Domain searched(const Knob& knob, const ParameterValue& usual) {
  if (!knob.choices.empty()) return allowed(knob);
  if (!knob.log) return IntegerRange{knob.tune_low, knob.tune_high};
  Levels levels;
  for (auto value = knob.tune_low; value <= knob.tune_high; value *= 2)
    levels.values.emplace_back(value);
  // The default need not be one of them, such as 0 for none.
  const auto place = std::ranges::lower_bound(levels.values, usual);
  if (place == levels.values.end() || *place != usual) levels.values.insert(place, usual);
  return levels;
}

ParameterValue parameter_value(const JobValue& value) {
  return std::visit([](const auto& held) { return ParameterValue(held); }, value);
}

/// Says whether every value of `domain` is one that `knob` may hold.
bool fits(const Domain& domain, const Knob& knob) {
  const Domain limits = allowed(knob);
  if (const auto* range = std::get_if<IntegerRange>(&domain)) {
    return admit(limits, range->low) && admit(limits, range->high);
  }
  if (const auto* levels = std::get_if<Levels>(&domain)) {
    return std::all_of(levels->values.begin(), levels->values.end(),
                       [&](const auto& value) { return bool(admit(limits, value)); });
  }
  const auto* choices = std::get_if<Choices>(&domain);
  return choices && std::all_of(choices->names.begin(), choices->names.end(),
                                [&](const auto& name) { return knob.index_of(name).has_value(); });
}

/// Returns the values of `domain`; of a range its end.
std::vector<ParameterValue> values_to_check(const Domain& domain) {
  if (const auto* range = std::get_if<IntegerRange>(&domain)) return {range->high};
  if (const auto* levels = std::get_if<Levels>(&domain)) return levels->values;
  const auto* choices = std::get_if<Choices>(&domain);
  if (choices == nullptr) return {};
  return {choices->names.begin(), choices->names.end()};
}

}  // namespace

Result<std::vector<Parameter>> schedule_parameters(std::span<const std::string> names,
                                                   std::span<const DeclaredKnob> declared) {
  for (const auto& name : names) {
    if (find_knob(name) == nullptr && find_declared(declared, name) == nullptr)
      return failure(unknown_knob(name));
  }
  const auto defaults = params_from_json(knob_values(ScheduleConfig{}));
  HOCKET_TRY(defaults);
  std::vector<Parameter> parameters;
  for (const auto& knob : schedule_knobs()) {
    const std::string name(knob.name);
    if (names.empty() ? !knob.is_searched() : !std::ranges::count(names, name)) continue;
    parameters.push_back({name, searched(knob, defaults->at(name)), defaults->at(name)});
  }
  for (const std::string& name : names) {
    if (!name.starts_with("regions.")) continue;
    const Knob& knob = *find_knob(name);
    // A region does as the rest of the step until it has a value of its own.
    const auto all = defaults->find(std::string(knob.name));
    const ParameterValue usual = all != defaults->end() ? all->second : ParameterValue(knob.low);
    parameters.push_back({name, searched(knob, usual), usual});
  }
  for (const std::string& name : names) {
    const DeclaredKnob* const own = find_declared(declared, name);
    if (own == nullptr) continue;
    const ParameterValue usual = parameter_value(own->default_value);
    parameters.push_back({name, searched(as_knob(*own), usual), usual});
  }
  return parameters;
}

bool is_knob(std::string_view name) {
  return find_knob(name) != nullptr || is_job_knob(name);
}

Result<void> check_knobs(const Space& space) {
  for (const auto& parameter : space.parameters()) {
    const Knob* const knob = find_knob(parameter.name);
    if (knob == nullptr || fits(parameter.domain, *knob)) continue;
    return failure(ErrorCode::invalid_argument,
                   "parameter " + parameter.name + " is a knob of the scheduler: expected " +
                       describe(allowed(*knob)) + ", found " + describe(parameter.domain));
  }
  return {};
}

std::vector<HiddenKnob> hidden_knobs(const Space& space) {
  const Params defaults = space.defaults();
  std::vector<HiddenKnob> found;
  for (const Parameter& parameter : space.parameters()) {
    if (!is_knob(parameter.name)) continue;
    for (const ParameterValue& value : values_to_check(parameter.domain)) {
      Params params = defaults;
      params[parameter.name] = value;
      const auto config = schedule_config_for(params);
      if (!config) continue;
      for (HiddenKnob& hidden : hidden_knobs(*config)) {
        if (hidden.knob != parameter.name || defaults.contains(hidden.by)) continue;
        const auto same = std::ranges::find_if(found, [&](const HiddenKnob& other) {
          return other.knob == hidden.knob && other.by == hidden.by;
        });
        if (same == found.end()) {
          found.push_back(std::move(hidden));
        } else {
          *same = std::move(hidden);
        }
      }
    }
  }
  return found;
}

Result<ScheduleConfig> with_params(const ScheduleConfig& base, const Params& params) {
  ScheduleConfig config = base;
  for (const auto& [name, value] : params) {
    if (!is_knob(name)) continue;
    auto changed = with_knob(config, name, to_json(value));
    if (!changed) return changed;
    config = std::move(*changed);
  }
  // The values of one region may contradict each other.
  HOCKET_TRY(validate(config));
  return config;
}

Result<ScheduleConfig> schedule_config_for(const Params& params) {
  return with_params({}, params);
}

Result<Params> params_of(const ScheduleConfig& config, const Space& space) {
  const nlohmann::json document = to_json(config);
  Params params;
  for (const Parameter& parameter : space.parameters()) {
    const auto value = read_knob(document, parameter.name);
    HOCKET_TRY(value);
    params[parameter.name] =
        value->word.empty() ? ParameterValue(value->number) : ParameterValue(value->word);
  }
  return params;
}

}  // namespace hocket
