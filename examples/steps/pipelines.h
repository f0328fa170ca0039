#pragma once

// Pipelines as programs of a step: the schedules of the field, and the tasks of each stage in their
// order. Pure.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

/// A computation of a stage for a micro-batch: forward, backward, or where backward is in two parts
/// that for the activations (backward) and that for the weights.
enum class StageWork : std::uint8_t { forward, backward, weights };

struct StageTask {
  StageWork work = StageWork::forward;
  std::int64_t micro_batch = 0;
  std::int64_t chunk = 0;  ///< of the stage, where stages are interleaved
};

using StageSchedule = std::vector<StageTask>;

/// Shape of a pipeline. Stages have `chunks` blocks of layers each; chunk c of stage s is block
/// c · stages + s of the model.
struct PipelineShape {
  std::int64_t stages = 1, micro_batches = 1, chunks = 1;
};

/// 1F1B (Narayanan et al., PipeDream, SOSP 2019, section 3.2, with a flush at the end).
inline StageSchedule one_forward_one_backward(const PipelineShape& shape, std::int64_t stage) {
  StageSchedule schedule;
  const std::int64_t ahead = std::min(shape.stages - stage, shape.micro_batches);
  for (std::int64_t i = 0; i < ahead; ++i) schedule.push_back({StageWork::forward, i});
  for (std::int64_t i = 0; i < shape.micro_batches; ++i) {
    schedule.push_back({StageWork::backward, i});
    if (ahead + i < shape.micro_batches) schedule.push_back({StageWork::forward, ahead + i});
  }
  return schedule;
}

/// Interleaved 1F1B (Narayanan et al., SC 2021, section 2.2). Requires that the stages divide the
/// micro-batches.
inline StageSchedule interleaved(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t total = shape.micro_batches * shape.chunks;
  const auto nth = [&](StageWork work, std::int64_t n) {
    const std::int64_t in_round = n % (shape.stages * shape.chunks);
    const std::int64_t chunk = in_round / shape.stages;
    return StageTask{work,
                     n / (shape.stages * shape.chunks) * shape.stages + in_round % shape.stages,
                     work == StageWork::forward ? chunk : shape.chunks - 1 - chunk};
  };
  const std::int64_t ahead =
      std::min((shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.stages, total);
  StageSchedule schedule;
  for (std::int64_t i = 0; i < ahead; ++i) schedule.push_back(nth(StageWork::forward, i));
  for (std::int64_t i = 0; i < total; ++i) {
    if (ahead + i < total) schedule.push_back(nth(StageWork::forward, ahead + i));
    schedule.push_back(nth(StageWork::backward, i));
  }
  return schedule;
}

/// ZB-H1 (Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2.1): 1F1B, with the
/// weights' gradients of a micro-batch as many micro-batches late as the stage is from the first.
inline StageSchedule zero_bubble(const PipelineShape& shape, std::int64_t stage) {
  StageSchedule schedule;
  for (const StageTask& task : one_forward_one_backward(shape, stage)) {
    schedule.push_back(task);
    if (task.work == StageWork::backward && task.micro_batch >= stage)
      schedule.push_back({StageWork::weights, task.micro_batch - stage});
  }
  const std::int64_t done = std::max<std::int64_t>(shape.micro_batches - stage, 0);
  for (std::int64_t i = done; i < shape.micro_batches; ++i)
    schedule.push_back({StageWork::weights, i});
  return schedule;
}

struct StageTimes {
  std::int64_t forward_ns = 0, backward_ns = 0, weights_ns = 0;
};

/// Writes the program of one stage, for a mesh whose first axis is the pipeline: activations go
/// from a block to the next, and their gradients back. A stage computes one task after the other.
class StageProgram {
 public:
  StageProgram(const PipelineShape& shape, std::int64_t stage, const StageTimes& times,
               std::int64_t message_bytes)
      : shape_(shape), stage_(stage), times_(times), bytes_(message_bytes) {
    program_.name = "stage " + std::to_string(stage);
    program_.at = {{"pipeline", {stage}}};
  }

  /// Receives what the task needs, computes it, and sends its result.
  void add(const StageTask& task) {
    receive(task);
    compute(task);
    send(task);
  }
  void receive(const StageTask& task) {
    const std::int64_t from = neighbour(task, task.work == StageWork::forward ? -1 : 1);
    if (is_block(task, from)) {
      message(CollectiveKind::receive, data_of(task.work, block_of(task), task.micro_batch),
              from % shape_.stages);
    }
  }
  void compute(const StageTask& task) {
    StepTask& computed = program_.tasks.emplace_back();
    const std::int64_t block = block_of(task);
    computed.name = name_of(task.work, block, task.micro_batch);
    computed.duration_ns = task.work == StageWork::forward    ? times_.forward_ns
                           : task.work == StageWork::backward ? times_.backward_ns
                                                              : times_.weights_ns;
    computed.accesses.push_back(update(data("stage")));
    const std::int64_t step = task.work == StageWork::forward ? 1 : -1;
    if (is_block(task, neighbour(task, -step)))
      computed.accesses.push_back(read(data(data_of(task.work, block, task.micro_batch))));
    if (const std::int64_t to = neighbour(task, step); is_block(task, to))
      computed.accesses.push_back(write(data("out " + data_of(task.work, to, task.micro_batch))));
  }
  void send(const StageTask& task) {
    const std::int64_t to = neighbour(task, task.work == StageWork::forward ? 1 : -1);
    if (is_block(task, to))
      message(CollectiveKind::send, data_of(task.work, to, task.micro_batch), to % shape_.stages);
  }
  /// Adds a collective that updates what the stage has computed.
  void collective(const std::string& name, CollectiveGroup group, std::int64_t bytes) {
    StepTask& task = program_.tasks.emplace_back();
    task.name = name;
    task.collective = CollectiveKind::all_reduce;
    task.bytes = bytes;
    task.group = group;
    task.accesses = {update(data("stage"))};
  }
  RankProgram take() { return std::move(program_); }

  static std::string name_of(StageWork work, std::int64_t block, std::int64_t micro_batch) {
    constexpr const char* kNames[] = {"forward ", "backward ", "weights "};
    return kNames[static_cast<int>(work)] + std::to_string(block) + " of " +
           std::to_string(micro_batch);
  }

 private:
  std::int64_t block_of(const StageTask& task) const { return task.chunk * shape_.stages + stage_; }
  std::int64_t neighbour(const StageTask& task, std::int64_t distance) const {
    return block_of(task) + distance;
  }
  bool is_block(const StageTask& task, std::int64_t block) const {
    return task.work != StageWork::weights && block >= 0 && block < shape_.stages * shape_.chunks;
  }
  static std::string data_of(StageWork work, std::int64_t block, std::int64_t micro_batch) {
    return "for " + name_of(work, block, micro_batch);
  }

  DataId data(const std::string& name) {
    const auto found = std::ranges::find(program_.data, name);
    const DataId id{static_cast<std::uint32_t>(found - program_.data.begin())};
    if (found == program_.data.end()) program_.data.push_back(name);
    return id;
  }
  void message(CollectiveKind kind, const std::string& name, std::int64_t peer) {
    StepTask& task = program_.tasks.emplace_back();
    const bool sends = kind == CollectiveKind::send;
    task.name = (sends ? "send " : "receive ") + name;
    task.collective = kind;
    task.bytes = bytes_;
    task.group = {AxisSet::of(0), GroupTier::whole};
    task.peer = MessagePeer{peer, false};
    task.accesses = {sends ? read(data("out " + name)) : write(data(name))};
  }

  const PipelineShape shape_;
  const std::int64_t stage_;
  const StageTimes times_;
  const std::int64_t bytes_;
  RankProgram program_;
};

/// Adds the programs of a 1F1B pipeline to `step`, whose mesh has the axes pipeline, data and
/// tensor. The tensor ranks of a stage join each result, which has `result_bytes`, and at the end
/// of a step the replicas sum the gradients of their stage.
inline void add_pipeline(StepDescription& step, const PipelineShape& shape, const StageTimes& times,
                         std::int64_t result_bytes, std::int64_t gradient_bytes) {
  const CollectiveGroup data{AxisSet::of(1)}, tensor{AxisSet::of(2)};
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    StageProgram program(shape, stage, times, result_bytes);
    for (const StageTask& task : one_forward_one_backward(shape, stage)) {
      program.receive(task);
      program.compute(task);
      program.collective("join " + StageProgram::name_of(task.work, stage, task.micro_batch),
                         tensor, result_bytes);
      program.send(task);
    }
    program.collective("sum gradients", data, gradient_bytes);
    step.programs.push_back(program.take());
  }
}

}  // namespace hocket
