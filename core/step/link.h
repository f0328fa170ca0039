#pragma once

// A link as people write it ("500mbit", "10gbit,20us"). Plain values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct LinkSpec {
  double bytes_per_second = 0;
  std::int64_t latency_ns = 0;  ///< one way

  bool operator==(const LinkSpec&) const = default;
};

/// "RATE[,LATENCY]": a number with bit, kbit, mbit, gbit (decimal, per second, as in tc); a number
/// with ns, us, ms, s. Rates from 1kbit to 10000gbit, latencies up to 10 s.
Result<LinkSpec> parse_link(std::string_view text);

/// "500mbit,50us".
std::string to_string(const LinkSpec& link);

}  // namespace hocket
