#pragma once

// The units of objectives, and how their values are formatted and parsed. Pure functions;
// thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/trial/objective.h"

namespace hocket {

enum class Unit {
  nanoseconds,  ///< wall, report
  bytes,        ///< memory
  none,         ///< regex, file: the program's own unit
};

Unit unit_of(const Objective& objective);

/// Returns "ns", "bytes" or "", as in JSON.
std::string_view to_string(Unit unit);

/// Returns "411.2 ms", "5.2 GiB", or the plain number; four significant digits, six for a plain
/// number.
std::string value_text(double value, Unit unit);

/// Parses a finite number of at least 0 in `unit`, directly followed by an optional scale: for a
/// time ns, us, ms, s, m or h; for bytes the units of tuner/space/size_text.h.
Result<double> parse_value(std::string_view text, Unit unit);

}  // namespace hocket
