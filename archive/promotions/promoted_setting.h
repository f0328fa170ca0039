#pragma once

// A promoted configuration as the setting of a command: the values of its parameters, and the
// scheduler's configuration if knobs are among them. Pure; thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/declaration.h"
#include "core/step/schedule_config.h"
#include "tuner/space/params.h"
#include "tuner/trial/command_call.h"
#include "tuner/trial/placeholder.h"

namespace hocket {

struct PromotedSetting {
  Params params;
  std::optional<ScheduleConfig> schedule = {};
};

/// Reads the configuration of a version, and refuses what is not declared. Its parameters are the
/// declared ones; where there are none, all knobs of the scheduler.
Result<PromotedSetting> promoted_setting(const nlohmann::json& config,
                                         const Declaration& declaration);

/// Returns the call of `command` with the setting, as a trial of `hocket tune` makes it
/// (tuner/trial/command_call.h).
Result<CommandCall> call_with(const std::vector<std::string>& command,
                              const PromotedSetting& setting);

/// Returns the words that give the setting to the program of `command`, the command with which it
/// was tuned: those with placeholders, each behind the option that it is the value of, and
/// `--name VALUE` for a parameter that has no placeholder. A value that is left out has none.
std::vector<std::string> setting_arguments(const std::vector<std::string>& command,
                                           const Params& params);

}  // namespace hocket
