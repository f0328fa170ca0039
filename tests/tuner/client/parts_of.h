#pragma once

#include <cstdint>

#include "core/schedule_config.h"

namespace hocket {

/// Configurations that tests tell apart by their part size.
inline ScheduleConfig parts_of(std::int64_t partition_bytes) {
  ScheduleConfig config;
  config.partition_bytes = partition_bytes;
  return config;
}

}  // namespace hocket
