#pragma once

// Measures for which share of each iteration the lanes of a placed step
// (core/placement/step_placement.h) are idle: the device, its host, and the copies each way. Pure.
//
// A trace has no lanes of placement; what they are follows from the tasks that ran on them. So
// records of unknown task count for the lane that those of known tasks were for.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/step/task.h"
#include "core/trace/rank_trace.h"
#include "profiler/metrics/metrics.h"

namespace hocket {

struct IdleLanes {
  std::int64_t step = 0;
  /// By TaskLane, from 0 to 1. The device is idle while nothing runs on any of its streams.
  std::array<double, kTaskLanes> share = {};

  bool operator==(const IdleLanes&) const = default;
};

/// The names of the figures, by TaskLane.
inline constexpr std::array<const char*, kTaskLanes> kIdleFigures{
    "device_idle_share", "host_idle_share", "to_device_idle_share", "to_host_idle_share"};

/// Measures the iterations of `trace`, with `lane_of` by TraceRecord::task.
std::vector<IdleLanes> measure_idle_lanes(const RankTrace& trace,
                                          std::span<const TaskLane> lane_of);

/// Returns the medians over the iterations of `rank`; nothing without iterations.
std::vector<NamedMetric> named_metrics(std::int64_t rank, std::span<const IdleLanes> iterations);

}  // namespace hocket
