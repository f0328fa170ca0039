#pragma once

// The workload axis: cuts of collectives and computations (Centauri, ASPLOS 2024, section 4).
// Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/description/step_description.h"
#include "core/partitioning/bucket_fusion.h"
#include "core/partitioning/region_rules.h"

namespace hocket::partitioning {

/// Bytes, or units of a dimension, [begin, end).
struct Range {
  std::int64_t begin = 0, end = 0;

  bool operator==(const Range&) const = default;
};

/// Range that covers any data.
inline constexpr Range kEverything{0, std::int64_t{1} << 62};

/// Division of a collective into pieces, which have equal size except the last one.
struct CollectiveCut {
  /// True when bytes count from the beginning of every rank's block (core/step/rank_grid.h).
  /// Otherwise they count from the beginning of the buffer; in a bucket, from that of the first
  /// member's buffer.
  bool of_block = false;
  /// Bytes of the block or the buffer.
  std::int64_t bytes = 0;
  std::int64_t piece_bytes = 0;
  std::int64_t pieces = 1;
  /// Bytes of everything that the collective handles.
  std::int64_t total_bytes = 0;

  Range piece(std::int64_t index) const;
  /// Returns the bytes that the collective of a piece handles: its part of every block.
  std::int64_t bytes_of(Range piece) const;
};

/// Cuts a collective. Requires `sources` to be those of a collective.
CollectiveCut cut_collective(const StepDescription& step, const Sources& sources, const Rule& rule);

/// Division of a computation into pieces along a dimension.
struct ComputeCut {
  std::uint32_t dimension = 0;
  std::int64_t extent = 1;
  std::int64_t pieces = 1;

  /// Returns the units of a piece.
  Range piece(std::int64_t index) const;
};

/// Returns for each data item whether a collective accesses it.
std::vector<bool> communicated_data(const StepDescription& step);

/// Returns the division of the computation `task`, if it is divided: along the dimension that the
/// rule names, or else along the task's first dimension with a slice of communicated data, or else,
/// if the rule divides all tasks, along its first dimension. Never along a normalized dimension or
/// one with a single unit.
std::optional<ComputeCut> cut_computation(const StepTask& task, const Rule& rule,
                                          const std::vector<bool>& communicated);

/// Returns the bytes that the units `units` of `dimension` access through `slice`.
Range bytes_of(const DimensionSlice& slice, const Dimension& dimension, Range units);

}  // namespace hocket::partitioning
