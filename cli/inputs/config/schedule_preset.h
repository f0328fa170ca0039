#pragma once

// Defaults of training frameworks as configurations of the scheduler, so that a prediction can
// start from what a job does today. Constant; thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct SchedulePreset {
  std::string_view name;     ///< name on the command line
  std::string_view title;    ///< such as "DDP's defaults"
  std::string_view meaning;  ///< a few words, for lists
  ScheduleConfig config;
  /// Differences from the framework that no knob expresses, to be shown to users.
  std::vector<std::string> differences;
};

std::span<const SchedulePreset> schedule_presets();

/// Returns the preset called `name`; null when there is none.
const SchedulePreset* find_preset(std::string_view name);

/// Returns the error for an unknown preset; suggests the nearest and lists all.
Error unknown_preset(std::string_view name);

}  // namespace hocket
