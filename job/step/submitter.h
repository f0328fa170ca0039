#pragma once

// Interface between a model and the code that runs its operations: the scheduler in a job
// (job/step/scheduler_submitter.h), simple loops in tests. One thread submits.

#include <span>
#include <string_view>

#include "core/collective/optimizer_step.h"
#include "core/step/rank_grid.h"
#include "core/step/task.h"
#include "core/step/task_body.h"

namespace hocket {

/// Methods have the meaning of those in Scheduler.
class Submitter {
 public:
  virtual ~Submitter() = default;

  virtual RankGrid grid() const = 0;

  virtual DataId add_data(const DataPlace& place, std::string_view name) = 0;
  virtual void compute(const TaskOptions& options, std::span<const Access> accesses,
                       TaskBody body) = 0;
  virtual void compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                              PieceBody body) = 0;
  virtual void all_reduce(const TaskOptions& options, DataId data, std::span<float> values) = 0;
  /// By default as all_reduce(), for submitters that only count or record tasks.
  virtual void optimizer_step(const TaskOptions& options, DataId data, std::span<float> values,
                              const OptimizerStep&) {
    all_reduce(options, data, values);
  }
  virtual void reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) = 0;
  virtual void all_gather(const TaskOptions& options, DataId data, std::span<float> values) = 0;
};

}  // namespace hocket
