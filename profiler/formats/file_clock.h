#pragma once

// Maps ranks' clocks to the times of a file of all ranks. Pure.

#include <cstdint>
#include <span>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

class FileClock {
 public:
  /// `fit` must outlive this object. Times of the file are `shift_ns` after the reference's.
  FileClock(const ClockFit& fit, std::int64_t shift_ns) : fit_(fit), shift_ns_(shift_ns) {}

  /// Returns a time between minus half of the largest number and the largest.
  static std::int64_t on_reference(const ClockFit& fit, std::int64_t clock_ns);

  std::uint64_t operator()(std::int64_t clock_ns) const {
    return static_cast<std::uint64_t>(on_reference(fit_, clock_ns)) +
           static_cast<std::uint64_t>(shift_ns_);
  }

 private:
  const ClockFit& fit_;
  std::int64_t shift_ns_;
};

/// Returns the shift that makes all times at least 0. Requires traces in order.
std::int64_t shift_of(std::span<const RankTrace> traces, std::span<const ClockFit> fits);

}  // namespace hocket
