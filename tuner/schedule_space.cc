#include "tuner/schedule_space.h"

#include <algorithm>

namespace hocket {
namespace {

Domain allowed(const Knob& knob) {
  if (knob.choices.empty()) return IntegerRange{knob.low, knob.high, knob.log};
  return Choices{{knob.choices.begin(), knob.choices.end()}};
}

Domain searched(const Knob& knob) {
  if (!knob.choices.empty()) return allowed(knob);
  if (!knob.log) return IntegerRange{knob.tune_low, knob.tune_high};
  std::vector<std::int64_t> powers;
  for (auto value = knob.tune_low; value <= knob.tune_high; value *= 2) powers.push_back(value);
  return Levels{{powers.begin(), powers.end()}};
}

/// Whether every value of `domain` is one of `knob`'s.
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
  return choices &&
         std::all_of(choices->names.begin(), choices->names.end(), [&](const auto& name) {
           const auto& others = knob.other_spellings;
           return std::find(others.begin(), others.end(), name) != others.end() ||
                  bool(admit(limits, name));
         });
}

}  // namespace

Result<std::vector<Parameter>> schedule_parameters(std::span<const std::string> names) {
  std::string known;
  for (const auto& knob : schedule_knobs()) {
    if (!known.empty()) known += ", ";
    known += knob.name;
  }
  for (const auto& name : names) {
    if (!is_knob(name)) {
      return failure(ErrorCode::invalid_argument,
                     "no knob is named \"" + name + "\"; there are " + known);
    }
  }
  const auto defaults = params_from_json([] {
    auto document = to_json(ScheduleConfig{});
    document.erase("format");
    document.erase("version");
    return document;
  }());
  if (!defaults) return failure(defaults.error());
  std::vector<Parameter> parameters;
  for (const auto& knob : schedule_knobs()) {
    const std::string name(knob.name);
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    parameters.push_back({name, searched(knob), defaults->at(name)});
  }
  return parameters;
}

bool is_knob(std::string_view name) {
  const auto knobs = schedule_knobs();
  return std::any_of(knobs.begin(), knobs.end(), [&](const Knob& k) { return k.name == name; });
}

Result<void> check_knobs(const Space& space) {
  for (const auto& parameter : space.parameters()) {
    for (const auto& knob : schedule_knobs()) {
      if (knob.name != parameter.name || fits(parameter.domain, knob)) continue;
      return failure(ErrorCode::invalid_argument,
                     "parameter " + parameter.name + " is a knob of the scheduler: expected " +
                         describe(allowed(knob)) + ", found " + describe(parameter.domain));
    }
  }
  return {};
}

Result<ScheduleConfig> schedule_config_for(const Params& params) {
  auto document = to_json(ScheduleConfig{});
  for (const auto& [name, value] : params) {
    if (is_knob(name)) document[name] = to_json(value);
  }
  return schedule_config_from_json(document);
}

}  // namespace hocket
