#pragma once

// Formats and parses percentages. Pure; thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// Returns "12.3 %" for 0.1234, "0.12 %" for 0.00123.
std::string percent(double share);

/// Returns 0.03, 0.005, 0.03 for "3%", "0.5 %", "3". invalid_argument for anything else, and
/// outside 0 to `most` percent.
Result<double> parse_percent(std::string_view text, double most = 100);

}  // namespace hocket
