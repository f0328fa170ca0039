#pragma once

// A clock that stands still except for those that sleep. One thread.

#include <algorithm>
#include <cstdint>

#include "core/base/clock.h"

namespace hocket {

class SleptClock final : public Clock {
 public:
  explicit SleptClock(std::int64_t start_ns = 0) : now_ns_(start_ns) {}

  std::int64_t now_ns() const override { return now_ns_; }
  void sleep_until_ns(std::int64_t deadline_ns) const override {
    now_ns_ = std::max(now_ns_, deadline_ns);
  }

 private:
  mutable std::int64_t now_ns_;
};

}  // namespace hocket
