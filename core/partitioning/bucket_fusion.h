#pragma once

// The workload axis for what is small: consecutive all-reduces are joined. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/partitioning/region_rules.h"
#include "core/step/step_description.h"

namespace hocket::partitioning {

/// Tasks that are one: a task, or the all-reduces of a bucket in their order.
using Sources = std::vector<std::uint32_t>;

/// The one data that a collective changes, if it is one.
std::optional<DataId> changed_data(const StepTask& task);

/// `order`, with consecutive all-reduces of one rule and group joined while they have at most
/// bucket_bytes together. A bucket stands where its last member stood, and computations that wait
/// for a member, or for one of those, follow it. It is complete when a collective comes that does
/// not fit, or that waits for it.
std::vector<Sources> join_buckets(const StepDescription& step, const Rules& rules,
                                  std::span<const std::uint32_t> order);

}  // namespace hocket::partitioning
