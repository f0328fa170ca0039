#pragma once

// The placement of a step on a device of limited memory (core/placement/step_placement.h), as the
// job reports it: values that it measured itself (JobReport::values), so daemons and readers of
// other versions pass them on. Its offload_k is in its configuration. Plain values.

#include <array>
#include <cstdint>
#include <string_view>

namespace hocket {

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

}  // namespace hocket
