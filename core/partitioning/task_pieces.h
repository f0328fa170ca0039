#pragma once

// Divides tasks into pieces: applies cuts and stages. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/partitioning/bucket_fusion.h"
#include "core/partitioning/region_rules.h"
#include "core/partitioning/step_partition.h"

namespace hocket::partitioning {

/// A task of the partitioned step.
struct Piece {
  StepTask task;
  PieceOrigin origin;
  std::uint32_t rule = 0;
  /// True for the last stage of a collective that its rule defers.
  bool deferred = false;
};

struct Pieces {
  std::vector<Piece> pieces;
  /// Data of the step, followed by their chunks.
  std::vector<std::string> data;
};

/// Divides each of `items`, which are in order of submission, into its pieces. Pieces of a
/// collective are interleaved so that their stages overlap when they run in this order: the first
/// stage of a piece comes before the second stage of the previous piece (the operation tier).
///
/// invalid_argument when this exceeds the allowed pieces or accesses of a step.
Result<Pieces> make_pieces(const StepDescription& step, const Rules& rules,
                           const std::vector<Sources>& items);

}  // namespace hocket::partitioning
