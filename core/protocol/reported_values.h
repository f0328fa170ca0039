#pragma once

// Values that a job measures itself (JobReport::values) and that hocket knows by their names.
// Daemons and readers of other versions pass them on like any others. Plain values.

#include <array>
#include <cstdint>
#include <string_view>

namespace hocket {

/// The placement of a step on a device of limited memory (core/placement/step_placement.h). Its
/// offload_k is in the job's configuration.
struct PlacementValues {
  /// Device memory that the step takes, and the limit.
  std::int64_t peak_bytes = 0, limit_bytes = 0;
  /// Layers of the model; the device keeps the first offload_k.
  std::int64_t layers = 0;

  bool operator==(const PlacementValues&) const = default;
};

/// A field and its name in reports. web/views/jobs/placement.js reads the same names.
struct PlacementField {
  std::string_view name;
  std::int64_t PlacementValues::*value;
};
inline constexpr std::array<PlacementField, 3> kPlacementFields{
    {{"device_peak_bytes", &PlacementValues::peak_bytes},
     {"device_memory_bytes", &PlacementValues::limit_bytes},
     {"layers", &PlacementValues::layers}}};

/// The name of the share of its time that being tuned has cost a program since its job began: in
/// decisions, and in waiting for changes.
inline constexpr std::string_view kOwnCostName = "own_cost_percent";
inline constexpr double kMostOwnCostPercent = 100;

/// False for what is no share in percent; a report with such a value is refused.
constexpr bool is_own_cost(double percent) {
  return 0 <= percent && percent <= kMostOwnCostPercent;
}

}  // namespace hocket
