#pragma once

// Times of what only a placed step has (core/placement/step_placement.h): copies, and updates that
// run on a device or on its host. Pure.

#include <span>

#include "core/description/step_description.h"
#include "profiler/calibration/step_profile.h"

namespace hocket {

/// Returns the cost of a copy in one direction: a straight line through the median times of each
/// size, by least squares; all zero without copies.
PartCost fit_copy_cost(std::span<const ProfiledCopy> copies, bool is_to_device);

/// Sets the cost of copies of `description` and the times of its updates on the device and on the
/// host, as measured by `steps`, which were placed from it. What ran on one side only has a time on
/// the other side from the rate of the updates that ran there, or its own where none did.
void set_placed_times(std::span<const ProfiledStep> steps, StepDescription& description);

}  // namespace hocket
