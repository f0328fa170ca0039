#pragma once

// How long to wait before the next attempt: exponential with full jitter, so that many jobs which
// lost one daemon do not come back at once (M. Brooker, "Exponential Backoff And Jitter", 2015).
// Pure; one thread.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace hocket {

struct BackoffLimits {
  std::int64_t first_ns = 200'000'000;
  std::int64_t most_ns = 30'000'000'000;
};

class Backoff {
 public:
  /// `random` draws evenly from [0, 1).
  Backoff(BackoffLimits limits, std::function<double()> random)
      : limits_(limits), random_(std::move(random)), ceiling_ns_(limits.first_ns) {}

  /// A draw from 0 to first_ns · 2^n after n failures in a row, never above most_ns.
  std::int64_t next_ns() {
    const std::int64_t ceiling_ns = std::min(ceiling_ns_, limits_.most_ns);
    ceiling_ns_ = ceiling_ns > limits_.most_ns / 2 ? limits_.most_ns : ceiling_ns * 2;
    return static_cast<std::int64_t>(random_() * static_cast<double>(ceiling_ns));
  }

  /// After a success.
  void reset() { ceiling_ns_ = limits_.first_ns; }

 private:
  const BackoffLimits limits_;
  const std::function<double()> random_;
  std::int64_t ceiling_ns_;
};

}  // namespace hocket
