#pragma once

// The layer tier: start of collectives and order of computations (Centauri, ASPLOS 2024, section
// 5). Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/partitioning/region_rules.h"
#include "core/partitioning/task_pieces.h"
#include "core/step/schedule_config.h"

namespace hocket::partitioning {

/// Moves deferred pieces after all others, in order of priority, followed by the pieces that depend
/// on them. Leaves priorities unchanged: where priorities decide the order, the data that the next
/// forward pass needs first come first anyway, and a gather has no reason to wait if nothing else
/// is as urgent. `data` is the number of data items.
std::vector<Piece> defer_launches(std::vector<Piece> pieces, std::size_t data);

/// Sets the priorities of computations under ComputeOrder::critical_path: the longer the chain of
/// tasks that waits for a computation, the more urgent it is. Length is the number of tasks, so
/// that a job and the simulator agree. Computations with equally long chains get one priority and
/// keep their order. Regions with a priority of their own keep it.
void prioritise_computations(std::vector<Piece>& pieces, std::size_t data, ComputeOrder order,
                             const Rules& rules);

/// Limits the concurrent computations of a region to Rule::streams by dependencies, which every
/// executor respects: the computations take turns in updating as many additional data items, whose
/// names are appended to `data`. Does nothing for a region that may use all `streams`.
void limit_streams(std::vector<Piece>& pieces, std::vector<std::string>& data, const Rules& rules,
                   int streams);

}  // namespace hocket::partitioning
