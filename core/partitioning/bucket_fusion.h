#pragma once

// The workload axis for small collectives: consecutive all-reduces are fused into buckets. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/description/step_description.h"
#include "core/partitioning/region_rules.h"

namespace hocket::partitioning {

/// Tasks that become one item: a single task, or the all-reduces of a bucket in order.
using Sources = std::vector<std::uint32_t>;

/// Returns the data item that a collective changes, if it changes exactly one.
std::optional<DataId> changed_data(const StepTask& task);

/// Returns `order` with consecutive all-reduces of one rule and group fused while they have at most
/// bucket_bytes together. A bucket takes the position of its last member, and computations that
/// wait for a member, directly or through others, follow it. A bucket is complete when a collective
/// comes that does not fit or that waits for it.
std::vector<Sources> join_buckets(const StepDescription& step, const Rules& rules,
                                  std::span<const std::uint32_t> order);

}  // namespace hocket::partitioning
