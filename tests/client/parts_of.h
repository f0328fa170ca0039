#pragma once

// Configurations that tests can distinguish. Pure; any thread.

#include <cstdint>

#include "core/step/schedule_config.h"

namespace hocket {

/// Returns a configuration with all other knobs at their defaults.
inline ScheduleConfig parts_of(std::int64_t partition_bytes) {
  ScheduleConfig config;
  config.partition_bytes = partition_bytes;
  return config;
}

}  // namespace hocket
