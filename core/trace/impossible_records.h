#pragma once

// Finds records of a device's work that cannot be as a profiler recorded them: without times, begun
// before the call that launched them, on another clock, or ended after their successor on the same
// stream began. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

/// Streams of records that did not run on a numbered stream of a device.
inline constexpr std::int32_t kOnHost = -2;
inline constexpr std::int32_t kUnknownStream = -1;

struct ImpossibleRecords {
  /// Left out, by reason.
  std::int64_t without_times = 0, before_launch = 0, on_another_clock = 0;
  /// Cut to the time of others of their name, or where the next record of their stream begins if
  /// that is sooner.
  std::int64_t shortened = 0;
  /// Kept although records of their stream run within them, as branches of a graph do.
  std::int64_t overlapping = 0;
  /// Median time by which kernels begin before their launch, if most do: the host's and the
  /// device's clocks differ, and the records are kept without their launch. 0 otherwise.
  std::int64_t clocks_differ_by_ns = 0;
  /// Launches of records that were left out, as far as they are known.
  std::vector<std::int64_t> lost_launches_ns;
  std::int64_t lost_without_launch = 0;

  /// Adds what was found in another process's records.
  void add(const ImpossibleRecords& other);

  std::int64_t left_out() const { return without_times + before_launch + on_another_clock; }
};

/// Corrects `records`, which ran at `streams` (of the same size), and marks in `is_left_out` those
/// that are to be left out.
ImpossibleRecords find_impossible(std::vector<TraceRecord>& records,
                                  std::span<const std::int32_t> streams,
                                  std::vector<bool>& is_left_out);

/// Work of one rank's steps: records of the device that were left out, and those that are there.
struct StepLoss {
  std::int64_t step = 0, lost = 0, kept = 0;
};

/// Removes from `starts` what makes windows of steps that miss more than kMostLostShare of their
/// work. `loss` has the steps that have any work, by step; `lost_without_step` counts lost records
/// of which nobody knows the step. Where no step would be left they all stay if in all no more than
/// kMostLostInAll are lost, and none otherwise. Returns the number of windows that are gone.
std::int64_t remove_incomplete_steps(std::vector<StepStart>& starts, std::span<const StepLoss> loss,
                                     std::int64_t lost_without_step);
inline constexpr double kMostLostShare = 0.05, kMostLostInAll = 0.1;

}  // namespace hocket
