#pragma once

// Numbers as programs print them: 10,753, 4.0e+01, 1.2k, 950MB/s, 2.5s/it. A number counts whole,
// with its unit, or not at all. Pure functions; thread-safe.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/trial/output/line_matcher.h"

namespace hocket {

/// A unit in which programs print, and choose anew for each value.
struct NumberUnit {
  enum class Family {
    time,      ///< also of an iteration: ms, s/it
    rate,      ///< of iterations, the reciprocal of time: it/s
    bytes,     ///< GB, MiB
    transfer,  ///< bytes or bits in a second: GB/s, Gbit/s
    count,     ///< of anything else: k, M tok/s; always read in full
  };
  Family family = Family::count;
  double factor = 1;  ///< in seconds, iterations in a second, bytes, bytes in a second, pieces
  std::string name = {};

  bool operator==(const NumberUnit&) const = default;
};

/// Returns the unit of this name; nothing for any other word.
std::optional<NumberUnit> number_unit(std::string_view name);

/// Returns the samples that `matches` of `pattern` hold, without the first `skip`. Prefixes of
/// counts are multiplied out. Other units are read in `unit`, which is that of the first sample if
/// it is not known yet. The error names the match, and quotes text that is not a finite number of
/// at least 0, a number that goes on behind its match, or a unit that does not fit `unit`.
Result<std::vector<double>> measured_samples(std::span<const LineMatch> matches, std::size_t skip,
                                             const std::string& pattern,
                                             std::optional<NumberUnit>& unit);

}  // namespace hocket
