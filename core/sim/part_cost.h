#pragma once

// Cost of a part of a collective in a step, and the links it uses. Pure.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/description/step_description.h"

namespace hocket {

/// Tiers of links. Parts on different tiers do not slow each other.
enum class LinkTier : std::uint8_t { host, network };
inline constexpr std::size_t kLinkTiers = 2;

/// Returns the slowest tier that a collective of `group` crosses: `network`, unless it stays inside
/// hosts.
LinkTier tier_of(const StepDescription& step, CollectiveGroup group);

/// Returns the cost of a part of `bytes`. `step` must be valid. A group of one rank costs nothing.
///
/// With a cluster, the cost is collective_cost(). The groups of one kind run at the same time and
/// share the network, so beta is multiplied by the number of those that a host has, if they cross
/// hosts.
///
/// Without a cluster, `step.collective` is the cost of a part of an all-reduce, a broadcast or an
/// all-to-all over all ranks; a reduce-scatter or an all-gather costs half of it. In a group, the
/// cost is `step.collective_inside` or `_between`. Where these are unknown, it is derived from the
/// cost over all ranks as for a ring: alpha and latency scale with its rounds, beta with the bytes
/// that a rank sends. Not for a shift.
PartCost part_cost(const StepDescription& step, CollectiveKind kind, CollectiveGroup group,
                   std::int64_t bytes);

/// Returns the same cost for a group that has its links to itself.
PartCost part_cost_alone(const StepDescription& step, CollectiveKind kind, CollectiveGroup group,
                         std::int64_t bytes);

/// Returns the cost of a part of a message, on the same host or to another one. `step` must have
/// messages or shifts and be valid.
PartCost message_cost(const StepDescription& step, bool crosses_hosts);

/// Returns the cost of a part of the shift `task`: that of a message, but ranks of a host that send
/// to another one share its link.
PartCost shift_cost(const StepDescription& step, const StepTask& task);
/// Returns the cost of one of these ranks' messages, which has its links to itself.
PartCost shift_cost_alone(const StepDescription& step, const StepTask& task);

/// Returns the least beta of any part of the collective `task` under any algorithm; none moves a
/// byte faster.
double least_ns_per_byte(const StepDescription& step, const StepTask& task);
/// Returns the same for a collective or message that has its links to itself.
double least_ns_per_byte_alone(const StepDescription& step, const StepTask& task,
                               bool crosses_hosts);

}  // namespace hocket
