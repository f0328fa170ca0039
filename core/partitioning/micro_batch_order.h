#pragma once

// The model tier: order of the micro-batches' tasks (Centauri, ASPLOS 2024, section 5). Pure.

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"

namespace hocket::partitioning {

/// Returns the tasks of `step` in the order in which to submit them.
///
/// Groups of `kept` micro-batches follow each other. If `kept` does not divide their number the
/// first group is smaller, so that the last one, which overlaps with the communication of
/// gradients, is full. Within a group the first computations of the micro-batches come first, in
/// the order of the micro-batches, then their second ones, and so on: backward, the gradients of
/// the last layers are complete while all other layers remain to be computed; forward, the first
/// layers compute while the parameters of the next ones are in transit. Other tasks stay behind the
/// computation that they follow in the step. Conflicting tasks keep their order, so micro-batches
/// that share their activations are not reordered.
///
/// invalid_argument when that many micro-batches exceed step.memory_limit_bytes.
Result<std::vector<std::uint32_t>> order_micro_batches(const StepDescription& step, int kept);

}  // namespace hocket::partitioning
