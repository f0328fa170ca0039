#pragma once

// What a part of a collective costs in a step, and over which links it goes. Pure.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/step/step_description.h"

namespace hocket {

/// Links that carry parts at the same time without slowing each other.
enum class LinkTier : std::uint8_t { host, network };
inline constexpr std::size_t kLinkTiers = 2;

/// The slowest links that a collective of `group` crosses: `network`, unless it stays inside hosts.
LinkTier tier_of(const StepDescription& step, CollectiveGroup group);

/// Of a part of `bytes`. With a cluster by collective_cost(), where groups between hosts, one for
/// each place on a host, run at once and share the network: beta counts so many times. Without one
/// by `step.collective`, which is what a part of an all-reduce, a broadcast or an all-to-all over
/// all ranks costs: half of it for a reduce-scatter or an all-gather. In a group by
/// `step.collective_inside` or `_between`; where those are not known, what a ring over so many
/// ranks takes of the whole one's: alpha and latency by its rounds, beta by the bytes that a rank
/// sends. A group of one rank costs nothing. `step` must be valid.
PartCost part_cost(const StepDescription& step, CollectiveKind kind, CollectiveGroup group,
                   std::int64_t bytes);

/// The least beta of any part, however it moves: no bytes cross the link faster.
double least_ns_per_byte(const StepDescription& step, CollectiveKind kind, CollectiveGroup group);

}  // namespace hocket
