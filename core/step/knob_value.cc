#include "core/step/knob_value.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/json_reader.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kRegionsField = "regions";
constexpr const char* kJobField = "job";

/// Returns the value of `field` in `object`; null when it is absent.
const json* find(const json& object, const std::string& field) {
  const auto found = object.find(field);
  return found == object.end() ? nullptr : &*found;
}

/// Returns `value` as `knob`, the knob called `name`, holds it.
Result<KnobValue> typed(const Knob& knob, std::string_view name, const json& value) {
  const auto config = with_knob(ScheduleConfig{}, name, value);
  HOCKET_TRY(config);
  const json stored = knob_values(*config).at(std::string(name));
  if (knob.choices.empty()) return KnobValue{stored.get<std::int64_t>()};
  const auto at = std::ranges::find(knob.choices, stored.get<std::string>());
  return KnobValue{at - knob.choices.begin(), std::string(*at)};
}

/// Returns the object of overrides of `region`; null when it has none.
Result<const json*> overrides_of(const json& document, const std::string& region) {
  const json* const regions = find(document, kRegionsField);
  if (regions == nullptr) return nullptr;
  if (!regions->is_object())
    return failure(wrong_field(kRegionsField, "an object of regions by their names", *regions));
  const json* const overrides = find(*regions, region);
  if (overrides != nullptr && !overrides->is_object()) {
    return failure(wrong_field(std::string(kRegionsField) + "." + region, "an object of overrides",
                               *overrides));
  }
  return overrides;
}

/// Reads a knob of the job's own.
Result<KnobValue> read_own(const json& document, std::string_view name) {
  const json* const own = find(document, kJobField);
  const json* const value = own == nullptr || !own->is_object()
                                ? nullptr
                                : find(*own, std::string(name.substr(kJobKnobPrefix.size())));
  if (value == nullptr) {
    return failure(ErrorCode::not_found, "the configuration has no value of " + std::string(name));
  }
  const auto config = with_knob(ScheduleConfig{}, name, *value);
  HOCKET_TRY(config);
  const JobValue& held = config->job.begin()->second;
  if (const auto* const number = std::get_if<std::int64_t>(&held)) return KnobValue{*number};
  return KnobValue{0, std::get<std::string>(held)};
}

}  // namespace

Result<KnobValue> read_knob(const json& document, std::string_view name) {
  if (!document.is_object())
    return failure(ErrorCode::invalid_argument, "configuration must be a JSON object");
  if (is_job_knob(name)) return read_own(document, name);
  const Knob* const knob = find_knob(name);
  if (knob == nullptr) return failure(unknown_knob(name));
  const std::string field(knob->name);
  // Only a knob of a region has a name that is longer than its field.
  if (name.size() > field.size()) {
    const auto begin = std::string_view(kRegionsField).size() + 1;
    const std::string region(name.substr(begin, name.size() - begin - field.size() - 1));
    const auto overrides = overrides_of(document, region);
    HOCKET_TRY(overrides);
    const json* const value = *overrides == nullptr ? nullptr : find(**overrides, field);
    if (value != nullptr) return typed(*knob, name, *value);
    if (find_schedule_knob(field) == nullptr) return KnobValue{knob->low};
  }
  const json* const value = find(document, field);
  if (value != nullptr) return typed(*find_knob(field), field, *value);
  return typed(*find_knob(field), field, knob_values(ScheduleConfig{}).at(field));
}

}  // namespace hocket
