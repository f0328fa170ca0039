#pragma once

// Partitions a step according to a configuration: pure functions from tasks to tasks, along the
// three axes and three tiers of Centauri (ASPLOS 2024, sections 4 and 5), with the configuration's
// overrides for regions (GT's signals).
//
// Axes:
//  - workload: a collective of more than partition_bytes becomes collectives of pieces of its data;
//    computations that feed it or are fed by it are divided along a dimension that allows it
//    (`compute_parts`), so that pieces of one overlap with pieces of the other; small collectives
//    are fused into buckets (`bucket_bytes`);
//  - primitive: an all-reduce becomes a reduce-scatter and an all-gather;
//  - group: a collective over all ranks becomes collectives inside the hosts and between them.
// Tiers:
//  - operation: pieces of one collective follow each other so that the stages of one overlap with
//    those of the next;
//  - layer: the time at which collectives start (`launch`), and the critical path first
//    (`compute_order`);
//  - model: the order of micro-batches (`micro_batches_kept`).
//
// The result computes the same values in another order: every task of the step runs, whole or in
// pieces that together make it up, and conflicting accesses stay ordered.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Correspondence of a task of a partitioned step to the tasks of the original step.
struct PieceOrigin {
  /// Tasks that it replaces: one, or the collectives of a bucket in order.
  std::vector<std::uint32_t> sources;
  /// Dimension along which a compute task is divided.
  std::uint32_t dimension = 0;
  /// Range [begin, end) of the original. For a compute task in units of the dimension, 0 and 0 if
  /// it is whole. For an all-reduce and its stages in bytes of the sources' data, concatenated. For
  /// a task submitted as a reduce-scatter or an all-gather in bytes of every rank's block.
  std::int64_t begin = 0, end = 0;

  bool operator==(const PieceOrigin&) const = default;
};

struct PartitionedStep {
  /// The step in the general form, tasks in order of submission. Its first data are those of the
  /// original step; the rest are chunks of them, or serve to order tasks.
  StepDescription step;
  /// Origin of each task.
  std::vector<PieceOrigin> origins;
};

/// Partitions `step`, which stays as it is unless is_partitioned(config). Requires valid arguments.
/// invalid_argument names region and field if the configuration does not fit the step: an unknown
/// region (suggests the nearest), a step that is not the same on all ranks, a dimension that does
/// not exist or must not be divided, ranks that do not form groups, more memory than available.
Result<PartitionedStep> partition_step(const StepDescription& step, const ScheduleConfig& config);

}  // namespace hocket
