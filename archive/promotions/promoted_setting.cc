#include "archive/promotions/promoted_setting.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tuner/space/job_value.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

bool is_tuned(const Declaration& declaration, const std::string& name) {
  return declaration.parameters.empty() || find_parameter(declaration, name) != nullptr;
}

/// "BUCKET_MB" → "--bucket-mb".
std::string option_for(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    if (c == '_') return '-';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return "--" + name;
}

}  // namespace

Result<PromotedSetting> promoted_setting(const nlohmann::json& config,
                                         const Declaration& declaration) {
  HOCKET_TRY(check_declared(config, declaration));
  PromotedSetting setting;
  auto values = other_fields(config);
  if (config.contains("format")) {
    auto schedule = schedule_config_from_json(config);
    HOCKET_TRY(schedule);
    const nlohmann::json knobs = knob_values(*schedule);
    for (const auto& [name, value] : knobs.items())
      if (is_tuned(declaration, name) && !value.is_null()) values[name] = value;
    setting.schedule = std::move(*schedule);
  }
  auto params = params_from_json(values);
  HOCKET_TRY(params);
  setting.params = std::move(*params);
  return setting;
}

Result<CommandCall> call_with(const std::vector<std::string>& command,
                              const PromotedSetting& setting) {
  auto call = call_with(command, setting.params);
  HOCKET_TRY(call);
  if (setting.schedule) call->environment["HOCKET_CONFIG"] = to_json(*setting.schedule).dump();
  return call;
}

std::vector<std::string> setting_arguments(const std::vector<std::string>& command,
                                           const Params& params) {
  std::vector<std::string> template_words;
  Params left = params;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const auto names = placeholders_of({command[i]});
    const auto is_set = [&](const std::string& name) { return params.contains(name); };
    if (!std::ranges::any_of(names, is_set)) continue;
    for (const auto& name : names) left.erase(name);
    const auto plain = plain_placeholders_of({command[i]});
    if (std::ranges::any_of(plain, [&](const std::string& name) {
          const auto value = params.find(name);
          return value != params.end() && is_unset(value->second);
        })) {
      continue;
    }
    const bool is_value = command[i].starts_with("{" + names.front() + "}") && i > 0 &&
                          command[i - 1].starts_with('-') &&
                          placeholders_of({command[i - 1]}).empty();
    if (is_value) template_words.push_back(command[i - 1]);
    template_words.push_back(command[i]);
  }
  for (const auto& [name, value] : left) {
    if (name.find('.') != std::string::npos || is_unset(value)) continue;
    template_words.push_back(option_for(name));
    template_words.push_back("{" + name + "}");
  }
  auto call = call_with(template_words, params);
  return call ? std::move(call->argv) : std::vector<std::string>();
}

}  // namespace hocket
