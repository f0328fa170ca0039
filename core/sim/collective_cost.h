#pragma once

// Cost of a collective on a cluster, by the formulas with which NCCL chooses its algorithms (NCCL
// 2.28.9, src/graph/tuning.cc, protocol Simple). Pure.

#include <cstdint>

#include "core/description/step_description.h"
#include "core/step/collective_kind.h"

namespace hocket {

/// Returns the cost of one part of `bytes` of a collective of `kind` over `ranks` ranks, with
/// `ranks_per_host` on each host. Alpha is NCCL's latency, beta the inverse of its algorithm
/// bandwidth. A collective of one rank costs nothing. Not for a shift, which consists of messages.
PartCost collective_cost(CollectiveKind kind, std::int64_t bytes, std::int64_t ranks,
                         std::int64_t ranks_per_host, const Cluster& cluster);

/// Returns the cost of a part of a message between two ranks, which takes one step of a ring. NCCL
/// has no formula for it.
PartCost cluster_message_cost(bool crosses_hosts, const Cluster& cluster);

}  // namespace hocket
