#pragma once

// Shares as people read them. Pure; thread-safe.

#include <string>

namespace hocket {

/// 0.1234 is "12.3 %", 0.00123 is "0.12 %".
std::string percent(double share);

}  // namespace hocket
