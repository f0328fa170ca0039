#pragma once

// When data are on the device: the stays of each data item from its arrival to its release, and the
// copies that this takes. Pure.

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/placement/step_placement.h"

namespace hocket::placement {

inline constexpr std::uint32_t kNoResidency = ~std::uint32_t{0};

/// A stay of a data item on the device. Tasks are numbered as in the step.
struct Residency {
  std::uint32_t data = 0;
  /// First and last task that use it; a permanent one has all tasks.
  std::uint32_t first = 0, last = 0;
  /// First task before which a fetch may take its memory; at most `first`.
  std::uint32_t earliest = 0;
  /// It begins with a fetch. Otherwise its first task writes the data, or they are there for good.
  bool is_fetched = false;
  /// It is copied to the host, at its end or before.
  bool is_evicted = false;
  bool is_permanent = false;

  bool operator==(const Residency&) const = default;
};

struct Residencies {
  std::vector<PlacementSite> site;  ///< by task
  std::vector<PlacementSite> home;  ///< by data item
  std::vector<Residency> all;
  /// By task and access: the residency that it uses, or kNoResidency for a task of the host and for
  /// data without bytes.
  std::vector<std::vector<std::uint32_t>> used;
  /// By task, and for the end of the step: the residencies that are copied to the host before it.
  std::vector<std::vector<std::uint32_t>> evicted_before;
  /// By task: its stage, from 0. A stage is a run of the device's tasks between two that need the
  /// host's data of different layers.
  std::vector<std::uint32_t> stage;
};

/// invalid_argument where a task of the host writes data that stay on the device.
Result<Residencies> find_residencies(const StepToPlace& step, const PlacementOptions& options);

}  // namespace hocket::placement
