#pragma once

// A clock whose time changes only when it is set. One thread.

#include <cstdint>

#include "core/base/clock.h"

namespace hocket {

class SetClock final : public Clock {
 public:
  explicit SetClock(std::int64_t start_ns = 1'000'000'000) : now(start_ns) {}

  std::int64_t now_ns() const override { return now; }
  void sleep_until_ns(std::int64_t) const override {}

  std::int64_t now;
};

}  // namespace hocket
