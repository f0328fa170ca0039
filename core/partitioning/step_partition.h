#pragma once

// Partitions a step as a configuration says: pure functions from tasks to tasks, along the three
// axes and the three tiers of Centauri (ASPLOS 2024, sections 4 and 5), with the regions of the
// configuration taken into account (GT's signals).
//
// Axes:
//  - workload: collectives of more than partition_bytes become collectives of pieces of their data,
//    and computations that feed them or are fed by them are divided along a dimension that may be
//    (`compute_parts`), so that pieces of one run beside pieces of the other; small collectives are
//    joined (`bucket_bytes`);
//  - primitive: an all-reduce becomes a reduce-scatter and an all-gather;
//  - group: a collective over all ranks becomes collectives inside the hosts and between them.
// Tiers:
//  - operation: pieces of one collective follow each other so that the stages of one run beside
//    those of the next;
//  - layer: what starts when (`launch`), and the critical path first (`compute_order`);
//  - model: the order of micro-batches (`micro_batches_kept`).
//
// The result computes the same values in another order: every task of the step runs, once or in
// pieces that together are it, and what conflicted is still ordered.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

/// What a task of a partitioned step is of the step that was partitioned.
struct PieceOrigin {
  /// The tasks that it stands for: one, or the collectives of a bucket in their order.
  std::vector<std::uint32_t> sources;
  /// Of a compute task that is divided: which dimension.
  std::uint32_t dimension = 0;
  /// Of a compute task in units of the dimension, 0 and 0 when it is whole. Of an all-reduce and
  /// what becomes of it in bytes of the sources' data, one after the other. Of what was submitted
  /// as a reduce-scatter or an all-gather in bytes of every rank's block.
  std::int64_t begin = 0, end = 0;

  bool operator==(const PieceOrigin&) const = default;
};

struct PartitionedStep {
  /// In the general form, tasks in the order of submission. Its first data are those of the step
  /// that was partitioned; what follows stands for pieces of them, or orders tasks.
  StepDescription step;
  std::vector<PieceOrigin> origins;  ///< of each task
};

/// Whether partition_step() does anything under `config`; otherwise collectives are cut into parts
/// when they start, and nothing more.
bool is_partitioned(const ScheduleConfig& config);
/// `config` without what partitions steps.
ScheduleConfig unpartitioned(const ScheduleConfig& config);

/// `step` and `config` must be valid. invalid_argument, which names region and field, for what does
/// not fit the step: an unknown region (with the nearest known one), a dimension that does not
/// exist or may not be divided, ranks that do not make groups, more memory than there is.
Result<PartitionedStep> partition_step(const StepDescription& step, const ScheduleConfig& config);

}  // namespace hocket
