#pragma once

// The scheduler's configuration in a version. Pure; thread-safe.

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "store/rows.h"

namespace hocket {

/// Returns the scheduler's configuration that a version stands for: its default for a version of
/// other parameters alone, or of none.
Result<ScheduleConfig> promoted_schedule(const PromotionRow& version);

}  // namespace hocket
