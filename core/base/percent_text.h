#pragma once

// Shares as people read them. Pure; thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// 0.1234 is "12.3 %", 0.00123 is "0.12 %".
std::string percent(double share);

/// "3%", "0.5 %" or "3" is 0.03, 0.005, 0.03. invalid_argument for anything else, and outside
/// `most` percent.
Result<double> parse_percent(std::string_view text, double most = 100);

}  // namespace hocket
