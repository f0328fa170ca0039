#pragma once

// What the numbers of an objective mean, and how people read and write them. Pure functions;
// thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/trial/objective.h"

namespace hocket {

enum class Unit {
  nanoseconds,  ///< wall, report
  bytes,        ///< memory
  none,         ///< whatever the program prints
};

Unit unit_of(const Objective& objective);

/// "ns", "bytes" or "", as in JSON.
std::string_view to_string(Unit unit);

/// "411.2 ms", "5.2 GiB", or the plain number; four significant digits, six of a plain number.
std::string value_text(double value, Unit unit);

/// Reads a finite number of at least 0 in `unit`, with what scales it right behind: of a time ns,
/// us, ms, s, m or h; of bytes B, or K, M, G, T (also KiB, …) for powers of 1024.
Result<double> parse_value(std::string_view text, Unit unit);

}  // namespace hocket
