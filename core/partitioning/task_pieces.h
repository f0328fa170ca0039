#pragma once

// From tasks to pieces: applies the cuts and the stages. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/partitioning/bucket_fusion.h"
#include "core/partitioning/region_rules.h"
#include "core/partitioning/step_partition.h"
#include "core/step/step_description.h"

namespace hocket::partitioning {

/// A task of the partitioned step.
struct Piece {
  StepTask task;
  PieceOrigin origin;
  std::uint32_t rule = 0;
  /// The last collective of its chain, if its rule defers that.
  bool deferred = false;
};

struct Pieces {
  std::vector<Piece> pieces;
  std::vector<std::string> data;  ///< the step's, then their chunks
};

/// Cuts `items`, which stand in the order of submission, each into its pieces. Those of a
/// collective follow each other so that their stages overlap when they run in this order: the first
/// stage of a piece comes before the second one of the piece before (the operation tier).
///
/// invalid_argument when this makes more pieces or accesses than a step may have.
Result<Pieces> make_pieces(const StepDescription& step, const Rules& rules,
                           const std::vector<Sources>& items);

}  // namespace hocket::partitioning
