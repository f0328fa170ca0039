#pragma once

// Computes the delay before the next attempt: exponential back-off with full jitter, so that many
// jobs that lost the same daemon do not reconnect at once (M. Brooker, "Exponential Backoff And
// Jitter", 2015). Pure; one thread.

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
  /// `random` returns uniform samples from [0, 1).
  Backoff(BackoffLimits limits, std::function<double()> random)
      : limits_(limits), random_(std::move(random)), ceiling_ns_(limits.first_ns) {}

  /// Returns a uniform sample from 0 to first_ns · 2^n after n failures in a row, at most most_ns.
  std::int64_t next_ns() {
    const std::int64_t ceiling_ns = std::min(ceiling_ns_, limits_.most_ns);
    ceiling_ns_ = ceiling_ns > limits_.most_ns / 2 ? limits_.most_ns : ceiling_ns * 2;
    return static_cast<std::int64_t>(random_() * static_cast<double>(ceiling_ns));
  }

  /// Restarts the sequence; call after a success.
  void reset() { ceiling_ns_ = limits_.first_ns; }

 private:
  const BackoffLimits limits_;
  const std::function<double()> random_;
  std::int64_t ceiling_ns_;
};

}  // namespace hocket
