#pragma once

// Configurations that tests tell apart.

#include <cstdint>

#include "core/step/schedule_config.h"

namespace hocket {

/// All knobs but one at their defaults.
inline ScheduleConfig parts_of(std::int64_t partition_bytes) {
  ScheduleConfig config;
  config.partition_bytes = partition_bytes;
  return config;
}

}  // namespace hocket
