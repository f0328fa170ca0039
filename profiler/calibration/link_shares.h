#pragma once

// The shares of the links that the parts in a trace had, from which their costs are fitted. Pure.

#include <cstdint>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

/// Returns for each record of `trace` the share that it had, on average over its time, of what a
/// part of the rank gets alone; 1 for what is no communication. Parts of collectives share one
/// link. Pushes and pulls go separate ways, to and from `servers` servers. All ranks are taken to
/// exchange their parts at the same time over links that are equally fast. Parts of a rank then do
/// not slow one another while they are at most as many as there are servers, and as there are
/// ranks, with which each shares the link of its server.
std::vector<double> shares_of_links(const RankTrace& trace, std::int64_t servers);

}  // namespace hocket
