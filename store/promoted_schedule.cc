#include "store/promoted_schedule.h"

namespace hocket {

Result<ScheduleConfig> promoted_schedule(const PromotionRow& version) {
  if (!version.config.contains("format")) return ScheduleConfig{};
  return schedule_config_from_json(version.config);
}

}  // namespace hocket
