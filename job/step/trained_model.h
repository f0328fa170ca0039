#pragma once

// Interface between a model and the code that trains it: the same tasks in every step, for whatever
// submitter the model is attached to. One thread calls.

#include <cstdint>

#include "core/step/rank_grid.h"
#include "core/step/task.h"
#include "job/step/submitter.h"

namespace hocket {

/// Memory of the micro-batches whose activations are kept together.
struct MicroBatchMemory {
  std::int64_t bytes_each = 0;  ///< 0: their number is not limited by memory
  std::int64_t limit_bytes = 0;
};

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;

  /// Adds the model's data to `submitter`, which receives all later steps. May be called again when
  /// all that the previous submitter received is finished.
  virtual void attach(Submitter& submitter) = 0;
  /// Prepares the input that the tasks of `step` read, before they are submitted. Steps come in
  /// order from 0; up to Scheduler::kStepsAhead earlier ones may be unfinished.
  virtual void draw(std::int64_t step) = 0;
  /// Submits the tasks of a step, which are the same in every step.
  virtual void submit_tasks() = 0;

  /// Returns the data after which a ballot is summed (LiveJob::submit()): written by the first task
  /// of the backward pass, so that the ballot does not count as the step's beginning. Requires that
  /// the model is attached.
  virtual DataId first_gradient() = 0;
  virtual RankGrid grid() const = 0;
  /// Returns whether tasks of Submitter::compute_pieces() can be computed in pieces.
  virtual bool divides() const = 0;
  virtual MicroBatchMemory micro_batch_memory() const { return {}; }
};

}  // namespace hocket
