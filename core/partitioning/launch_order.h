#pragma once

// The layer tier: what starts when (Centauri, ASPLOS 2024, section 5). Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/partitioning/region_rules.h"
#include "core/partitioning/task_pieces.h"
#include "core/step/schedule_config.h"

namespace hocket::partitioning {

/// Moves deferred pieces behind all others, in the order of their priorities, and behind them what
/// depends on them. Priorities stay: where they decide, what the next forward pass needs first
/// comes first anyway, and a gather that nothing else is as urgent as has no reason to wait. `data`
/// is how many there are.
std::vector<Piece> defer_launches(std::vector<Piece> pieces, std::size_t data);

/// Under ComputeOrder::critical_path: a computation becomes the more urgent the longer the chain of
/// tasks that waits for it, in numbers of tasks, so that a job and the simulator agree. Equal
/// chains get one priority, and so keep their order. Regions with a priority of their own keep
/// that.
void prioritise_computations(std::vector<Piece>& pieces, std::size_t data, ComputeOrder order,
                             const Rules& rules);

/// Lets at most Rule::streams computations of a region run at once, by an order that every executor
/// keeps: they take turns to update as many pieces of data, whose names are appended to `data`.
/// Nothing for a region that may have all `streams`.
void limit_streams(std::vector<Piece>& pieces, std::vector<std::string>& data, const Rules& rules,
                   int streams);

}  // namespace hocket::partitioning
