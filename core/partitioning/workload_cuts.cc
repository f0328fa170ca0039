#include "core/partitioning/workload_cuts.h"

#include <algorithm>

#include "core/collective/part_sizes.h"
#include "core/step/rank_grid.h"

namespace hocket::partitioning {
namespace {

/// Returns the sum, or kEverything.end if it overflows or exceeds that.
std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kEverything.end : std::min(sum, kEverything.end);
}

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kEverything.end
                                                : std::min(product, kEverything.end);
}

/// Returns whether every rank owns a block of the data that `task` handles.
bool is_of_blocks(const StepTask& task) {
  return task.group.tier == GroupTier::between ||
         task.collective == CollectiveKind::reduce_scatter ||
         task.collective == CollectiveKind::all_gather ||
         task.collective == CollectiveKind::all_to_all;
}

}  // namespace

Range CollectiveCut::piece(std::int64_t index) const {
  return {index * piece_bytes, std::min((index + 1) * piece_bytes, bytes)};
}

std::int64_t CollectiveCut::bytes_of(Range piece) const {
  const std::int64_t size = piece.end - piece.begin;
  if (!of_block || bytes == 0) return size;
  // All blocks are full except the last one.
  return total_bytes / bytes * size +
         std::clamp<std::int64_t>(total_bytes % bytes - piece.begin, 0, size);
}

CollectiveCut cut_collective(const StepDescription& step, const Sources& sources,
                             const Rule& rule) {
  CollectiveCut cut;
  for (const std::uint32_t source : sources) cut.total_bytes += step.tasks[source].bytes;
  cut.bytes = cut.total_bytes;
  std::int64_t partition_bytes = rule.partition_bytes;
  const StepTask& task = step.tasks[sources.front()];
  if (is_of_blocks(task)) {
    const RankGrid grid = mesh_of(step).grid_of(task.group.axes);
    const std::int64_t blocks = task.group.tier == GroupTier::between ? grid.hosts() : grid.ranks;
    cut.of_block = true;
    cut.bytes = std::min(block_bytes(cut.total_bytes, blocks), cut.total_bytes);
    partition_bytes /= blocks;
  }
  cut.piece_bytes = part_bytes(cut.bytes, partition_bytes);
  cut.pieces = part_count(cut.bytes, partition_bytes);
  return cut;
}

Range ComputeCut::piece(std::int64_t index) const {
  return {extent / pieces * index + extent % pieces * index / pieces,
          extent / pieces * (index + 1) + extent % pieces * (index + 1) / pieces};
}

std::vector<bool> communicated_data(const StepDescription& step) {
  std::vector<bool> communicated(step.data.size(), false);
  for (const StepTask& task : step.tasks) {
    if (!task.collective) continue;
    for (const Access& access : task.accesses) communicated[access.data.index] = true;
  }
  return communicated;
}

std::optional<ComputeCut> cut_computation(const StepTask& task, const Rule& rule,
                                          const std::vector<bool>& communicated) {
  if (rule.compute_parts <= 1) return std::nullopt;
  const auto& dimensions = task.place.dimensions;
  const auto first = [&](const auto& suits) -> std::optional<ComputeCut> {
    const auto dimension =
        std::find_if(dimensions.begin(), dimensions.end(), [&](const Dimension& d) {
          return d.kind != DimensionKind::normalized && d.extent > 1 && suits(d);
        });
    if (dimension == dimensions.end()) return std::nullopt;
    return ComputeCut{static_cast<std::uint32_t>(dimension - dimensions.begin()), dimension->extent,
                      std::min<std::int64_t>(rule.compute_parts, dimension->extent)};
  };
  if (rule.dimension) return first([&](const Dimension& d) { return d.name == *rule.dimension; });
  const auto meets_collective = [&](const Dimension& d) {
    return std::any_of(d.slices.begin(), d.slices.end(),
                       [&](const DimensionSlice& s) { return communicated[s.data.index]; });
  };
  const auto cut = first(meets_collective);
  return cut || !rule.divides_all ? cut : first([](const Dimension&) { return true; });
}

Range bytes_of(const DimensionSlice& slice, const Dimension& dimension, Range units) {
  const auto until = [&](std::int64_t unit) {
    return bounded_sum(slice.begin_bytes, bounded_product(unit, slice.bytes_per_unit));
  };
  const std::int64_t end = until(units.end);
  return {until(units.begin),
          units.end == dimension.extent ? bounded_sum(end, slice.tail_bytes) : end};
}

}  // namespace hocket::partitioning
