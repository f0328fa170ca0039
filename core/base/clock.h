#pragma once

// Time as a dependency: code that measures or waits takes a Clock, so tests and the simulator
// control the time. Thread-safe.

#include <chrono>
#include <cstdint>

namespace hocket {

class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns nanoseconds since an arbitrary fixed point; never decreases.
  virtual std::int64_t now_ns() const = 0;

  /// Blocks until now_ns() has reached `deadline_ns`.
  virtual void sleep_until_ns(std::int64_t deadline_ns) const = 0;
};

/// The machine's monotonic clock.
class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() const override;
  void sleep_until_ns(std::int64_t deadline_ns) const override;
};

}  // namespace hocket
