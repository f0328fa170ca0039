#pragma once

// The text form of a link ("500mbit", "10gbit,20us"). Plain values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct LinkSpec {
  double bytes_per_second = 0;
  /// One-way latency.
  std::int64_t latency_ns = 0;

  bool operator==(const LinkSpec&) const = default;
};

/// Limits of a rate: 1kbit and 10000gbit.
inline constexpr double kMinLinkBytesPerSecond = 125, kMaxLinkBytesPerSecond = 1.25e12;

/// Parses "RATE[,LATENCY]". RATE is a number with the unit bit, kbit, mbit or gbit (decimal, per
/// second, as in tc), from 1kbit to 10000gbit. LATENCY is a number with the unit ns, us, ms or s,
/// up to 10 s.
Result<LinkSpec> parse_link(std::string_view text);

/// Returns the text of `link`: "500mbit,50us".
std::string to_string(const LinkSpec& link);

}  // namespace hocket
