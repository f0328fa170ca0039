#pragma once

// A link as people write it ("500mbit", "10gbit,20us"), and the token bucket that paces bytes like
// one. Pure: time is an argument.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

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

/// Lets `burst_bytes` through at once and the rest at the rate. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double bytes_per_second, std::int64_t burst_bytes);

  /// Queues `bytes` behind what was queued before; the time at which the last of them has left.
  std::int64_t send(double bytes, std::int64_t now_ns);

 private:
  double ns_per_byte_;
  double burst_ns_;
  double busy_until_ns_ = 0;
  bool used_ = false;
};

}  // namespace hocket
