#pragma once

// Records the tasks that a model submits in a step as a step description without times: tasks with
// regions, micro-batches and dimensions. So a configuration can be checked before anything runs,
// and measured times get a structure (job/training/step_measurement.h). One thread.

#include <map>
#include <string>
#include <string_view>

#include "core/description/step_description.h"
#include "job/step/submitter.h"
#include "job/step/trained_model.h"

namespace hocket {

/// Runs nothing. Tasks that share a name are numbered, as in a profile. Data have their places.
class StepRecorder final : public Submitter {
 public:
  explicit StepRecorder(const RankGrid& grid);

  RankGrid grid() const override { return {step_.ranks, step_.ranks_per_host}; }
  DataId add_data(const DataPlace& place, std::string_view name) override;
  void compute(const TaskOptions& options, std::span<const Access> accesses,
               TaskBody body) override;
  void compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                      PieceBody body) override;
  void all_reduce(const TaskOptions& options, DataId data, std::span<float> values) override;
  void reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) override;
  void all_gather(const TaskOptions& options, DataId data, std::span<float> values) override;

  const StepDescription& step() const { return step_; }

 private:
  StepTask& add(const TaskOptions& options, std::span<const Access> accesses);
  void add_collective(CollectiveKind kind, const TaskOptions& options, DataId data,
                      std::span<float> values);

  StepDescription step_;
  std::map<std::string, int> repeats_;
};

/// Returns a step of `model`, with the memory that its micro-batches take. Nothing submitted may be
/// unfinished, and the model must be attached again afterwards.
StepDescription record_step(TrainedModel& model);

}  // namespace hocket
