#pragma once

// Reads the scheduler's configuration given on a command line. One thread.

#include <iosfwd>
#include <string>

#include "core/base/result.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Returns the configuration of `--config TEXT`, which is a file or JSON; `otherwise` if `text` is
/// empty. Errors begin with the option's name; warnings go to `err`.
Result<ScheduleConfig> read_config(const std::string& text, ScheduleConfig otherwise,
                                   std::ostream& err);

}  // namespace hocket
