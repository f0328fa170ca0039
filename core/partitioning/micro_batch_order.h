#pragma once

// The model tier: which micro-batches' tasks follow each other (Centauri, ASPLOS 2024, section 5).
// Pure.

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"

namespace hocket::partitioning {

/// The tasks of `step` in the order in which they are to be submitted.
///
/// Groups of `kept` micro-batches follow each other; the first is smaller when `kept` does not
/// divide their number, so that the last, beside which the gradients travel, is full. Within a
/// group the micro-batches' first computations come first, in the order of the micro-batches, then
/// their second ones, and so on: backward, the gradients of the last layers are complete while all
/// others are to be computed; forward, the first layers have work while the parameters of the next
/// ones are on their way. Other tasks stay behind the computation that they follow in the step.
/// Conflicts keep their order, which leaves micro-batches that share their activations as they are.
///
/// invalid_argument when so many micro-batches take more than step.memory_limit_bytes.
Result<std::vector<std::uint32_t>> order_micro_batches(const StepDescription& step, int kept);

}  // namespace hocket::partitioning
