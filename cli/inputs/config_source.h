#pragma once

// Where a verb gets a configuration of the scheduler from. One thread.

#include <iosfwd>
#include <string>

#include "core/base/result.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// What `--config TEXT` says, a file or the JSON itself; `otherwise` when it is empty. Errors begin
/// with the option; warnings go to `err`.
Result<ScheduleConfig> read_config(const std::string& text, ScheduleConfig otherwise,
                                   std::ostream& err);

}  // namespace hocket
