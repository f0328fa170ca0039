#include "job/step/step_recorder.h"

#include <array>

namespace hocket {

StepRecorder::StepRecorder(const RankGrid& grid) {
  step_.ranks = grid.ranks;
  step_.ranks_per_host = grid.ranks_per_host;
}

DataId StepRecorder::add_data(const DataPlace& place, std::string_view name) {
  const auto index = static_cast<std::uint32_t>(step_.data.size());
  step_.data.emplace_back(name);
  step_.data_places.push_back(place);
  return {index};
}

void StepRecorder::compute(const TaskOptions& options, std::span<const Access> accesses, TaskBody) {
  add(options, accesses);
}

void StepRecorder::compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                                  PieceBody) {
  add(options, accesses);
}

void StepRecorder::all_reduce(const TaskOptions& options, DataId data, std::span<float> values) {
  add_collective(CollectiveKind::all_reduce, options, data, values);
}

void StepRecorder::reduce_scatter(const TaskOptions& options, DataId data,
                                  std::span<float> values) {
  add_collective(CollectiveKind::reduce_scatter, options, data, values);
}

void StepRecorder::all_gather(const TaskOptions& options, DataId data, std::span<float> values) {
  add_collective(CollectiveKind::all_gather, options, data, values);
}

StepTask& StepRecorder::add(const TaskOptions& options, std::span<const Access> accesses) {
  StepTask& task = step_.tasks.emplace_back();
  task.name = options.name;
  if (const int repeat = repeats_[task.name]++; repeat > 0)
    task.name += " #" + std::to_string(repeat);
  task.priority = options.priority;
  task.accesses.assign(accesses.begin(), accesses.end());
  if (options.place) task.place = *options.place;
  return task;
}

void StepRecorder::add_collective(CollectiveKind kind, const TaskOptions& options, DataId data,
                                  std::span<float> values) {
  StepTask& task = add(options, std::array{update(data)});
  task.collective = kind;
  task.bytes = static_cast<std::int64_t>(values.size_bytes());
}

StepDescription record_step(TrainedModel& model) {
  StepRecorder recorder(model.grid());
  model.attach(recorder);
  model.submit_tasks();
  StepDescription step = recorder.step();
  const MicroBatchMemory memory = model.micro_batch_memory();
  step.micro_batch_bytes = memory.bytes_each;
  step.memory_limit_bytes = memory.limit_bytes;
  return step;
}

}  // namespace hocket
