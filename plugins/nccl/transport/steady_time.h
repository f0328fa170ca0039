#pragma once

// The time of a clock that never goes back. Thread-safe.

#include <cstdint>
#include <ctime>

namespace hocket::nccl {

inline std::int64_t steady_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace hocket::nccl
