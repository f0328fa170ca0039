#pragma once

// The workload axis: where collectives and computations are cut (Centauri, ASPLOS 2024, section 4).
// Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/partitioning/bucket_fusion.h"
#include "core/partitioning/region_rules.h"
#include "core/step/step_description.h"

namespace hocket::partitioning {

/// Bytes, or units of a dimension, from `begin` to before `end`.
struct Range {
  std::int64_t begin = 0, end = 0;

  bool operator==(const Range&) const = default;
};

/// All that there is.
inline constexpr Range kEverything{0, std::int64_t{1} << 62};

/// How a collective is cut: the pieces are of equal size but for the last one.
struct CollectiveCut {
  /// Bytes count from the beginning of every rank's block (core/step/rank_grid.h); otherwise from
  /// that of the buffer, in a bucket from that of the first member's.
  bool of_block = false;
  std::int64_t bytes = 0;  ///< of the block or the buffer
  std::int64_t piece_bytes = 0;
  std::int64_t pieces = 1;
  /// Of all that the collective handles.
  std::int64_t total_bytes = 0;

  Range piece(std::int64_t index) const;
  /// What the collective of a piece handles: of every block its part.
  std::int64_t bytes_of(Range piece) const;
};

/// `sources` are a collective's.
CollectiveCut cut_collective(const StepDescription& step, const Sources& sources, const Rule& rule);

/// How a computation is divided.
struct ComputeCut {
  std::uint32_t dimension = 0;
  std::int64_t extent = 1;
  std::int64_t pieces = 1;

  /// In units.
  Range piece(std::int64_t index) const;
};

/// Which data a collective touches.
std::vector<bool> communicated_data(const StepDescription& step);

/// Whether and how the computation `task` is divided: along the dimension that the rule names, or
/// the task's first one that has a slice of communicated data; or, where the rule divides all,
/// along its first one. Never along a normalized dimension, and only where there is more than one
/// unit.
std::optional<ComputeCut> cut_computation(const StepTask& task, const Rule& rule,
                                          const std::vector<bool>& communicated);

/// What units `units` of `dimension` access through `slice`.
Range bytes_of(const DimensionSlice& slice, const Dimension& dimension, Range units);

}  // namespace hocket::partitioning
