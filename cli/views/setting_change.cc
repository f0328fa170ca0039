#include "cli/views/setting_change.h"

#include <map>
#include <nlohmann/json.hpp>

#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using Values = std::map<std::string, std::string>;

std::string value_as_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Returns the values by name. Knobs are there with their default as well, so that going to or from
/// a default shows both values.
Values values_of(const nlohmann::json& config) {
  Values values;
  nlohmann::json others = config;
  const auto schedule = schedule_config_from_json(config);
  if (config.contains("format") && schedule) {
    const nlohmann::json known = to_json(*schedule), knobs = knob_values(*schedule);
    for (const auto& [name, value] : known.items()) others.erase(name);
    for (const auto& [name, value] : knobs.items()) {
      others.erase(name);
      values[name] = value_as_text(value);
    }
  }
  for (const auto& [name, value] : others.items()) values[name] = value_as_text(value);
  return values;
}

Values default_knobs() {
  return values_of(to_json(ScheduleConfig{}));
}

}  // namespace

std::string setting_change(const nlohmann::json& before, const nlohmann::json& after) {
  if (after.empty()) return before.empty() ? "the same" : "the default";
  Values old_values = values_of(before);
  const Values new_values = values_of(after);
  if (after.contains("format")) {
    for (auto& [name, value] : default_knobs()) old_values.try_emplace(name, value);
  }
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const auto& [name, value] : new_values) {
    const auto old = old_values.find(name);
    if (old == old_values.end()) {
      add(name + " " + value);
    } else if (old->second != value) {
      add(name + " " + old->second + " -> " + value);
    }
  }
  for (const auto& [name, value] : old_values) {
    if (!new_values.contains(name)) add("no " + name);
  }
  return text.empty() ? "the same" : text;
}

std::string setting_text(const nlohmann::json& config) {
  const Values defaults = default_knobs();
  std::string text;
  for (const auto& [name, value] : values_of(config)) {
    const auto usual = defaults.find(name);
    if (usual != defaults.end() && usual->second == value) continue;
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text.empty() ? "the default" : text;
}

}  // namespace hocket
