#pragma once

// A random step of tasks that compute with floats, for a run on a device and a sequential run with
// the expected result; reproducible by seed.

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/device_task.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {

class RandomProgram {
 public:
  /// Indexed by data; empty for data that live within a step.
  using Values = std::vector<std::vector<float>>;
  /// Memory of each access of a task.
  using Operands = std::vector<std::span<float>>;
  static constexpr std::size_t kValues = 3000;

  explicit RandomProgram(std::uint64_t seed, std::size_t tasks = 30) {
    std::mt19937_64 random(seed);
    lasting_ = 2 + random() % 4;
    data_ = lasting_ + random() % 4;
    std::vector<bool> is_written(data_);
    for (std::size_t i = 0; i < tasks; ++i) {
      Task task;
      task.priority = static_cast<std::uint32_t>(random() % 5);
      task.is_collective = random() % 4 == 0;
      std::vector<bool> is_used(data_);
      for (auto n = task.is_collective ? 1 : 1 + random() % 3; n > 0; --n) {
        const std::size_t data = random() % (task.is_collective ? lasting_ : data_);
        if (is_used[data]) continue;
        is_used[data] = true;
        const bool must_write = data >= lasting_ && !is_written[data];
        is_written[data] = true;
        const auto mode = task.is_collective ? AccessMode::update
                          : must_write       ? AccessMode::write
                                             : static_cast<AccessMode>(random() % 3);
        task.accesses.push_back({{static_cast<std::uint32_t>(data)}, mode});
      }
      tasks_.push_back(std::move(task));
    }
  }

  std::size_t size() const { return tasks_.size(); }
  std::span<const Access> accesses(std::size_t task) const { return tasks_[task].accesses; }
  /// Returns the number of persistent data; the data after them live within a step.
  std::size_t lasting() const { return lasting_; }

  /// Returns the initial values of a rank.
  Values start(int rank) const {
    Values values(data_);
    for (std::size_t data = 0; data < lasting_; ++data)
      values[data].assign(kValues, static_cast<float>(rank + 1) / static_cast<float>(data + 2));
    return values;
  }

  /// Returns the values of each of `ranks` ranks after `steps` steps.
  std::vector<Values> expected(int steps, int ranks) const {
    std::vector<Values> all;
    for (int rank = 0; rank < ranks; ++rank) {
      all.push_back(start(rank));
      for (auto& values : all.back()) values.resize(kValues);
    }
    for (int step = 0; step < steps; ++step)
      for (std::size_t i = 0; i < tasks_.size(); ++i) run_alone(i, all);
    for (Values& values : all)
      for (std::size_t data = lasting_; data < data_; ++data) values[data].clear();
    return all;
  }

  /// Adds the data to `scheduler`, which must have no data yet, and the data that live within a
  /// step to `memory`.
  void add_data(Scheduler& scheduler, DeviceMemory& memory) const {
    std::vector<std::uint32_t> uses(data_);
    for (const Task& task : tasks_)
      for (const Access& access : task.accesses) ++uses[access.data.index];
    for (std::size_t data = 0; data < data_; ++data) {
      const DataId id = scheduler.add_data();
      HOCKET_CHECK(id.index == data, "add a program's data first");
      if (data >= lasting_ && uses[data] > 0) memory.add(id, kValues * sizeof(float), uses[data]);
    }
  }

  /// Submits a step: `values_of(data)` returns the memory of persistent data, `launch(task)` is the
  /// body of a task.
  void submit(Scheduler& scheduler, const auto& values_of, const auto& launch) const {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Task& task = tasks_[i];
      const TaskOptions options{.name = "task", .priority = task.priority};
      if (task.is_collective) {
        const DataId data = task.accesses.front().data;
        scheduler.all_reduce(options, data, values_of(data));
      } else {
        scheduler.compute(options, task.accesses, [launch, i] { launch(i); });
      }
    }
  }
  /// Submits a step on a simulated device; `values` and `device` must outlive the step.
  void submit(Scheduler& scheduler, Values& values, ModelDevice& device) const {
    submit(
        scheduler, [&](DataId data) { return std::span<float>(values[data.index]); },
        [this, &values, &device](std::size_t task) { launch(task, values, device); });
  }

  /// Returns the operands of a running task; `values_of(data)` returns the memory of persistent
  /// data.
  Operands operands(std::size_t task, const auto& values_of) const {
    const DeviceTask& running = this_device_task();
    Operands found;
    for (const Access& access : tasks_[task].accesses) {
      found.push_back(
          access.data.index < lasting_
              ? values_of(access.data)
              : std::span(static_cast<float*>(running.memory->at(access.data)), kValues));
    }
    return found;
  }

  /// Each result depends on the task, on all values that it reads, and on the previous value if it
  /// updates.
  void compute(std::size_t index, const Operands& operands) const {
    const auto& accesses = tasks_[index].accesses;
    for (std::size_t i = 0; i < kValues; ++i) {
      float sum = static_cast<float>(index + 1);
      for (std::size_t a = 0; a < accesses.size(); ++a)
        if (accesses[a].mode != AccessMode::write) sum += operands[a][i];
      for (std::size_t a = 0; a < accesses.size(); ++a)
        if (accesses[a].mode != AccessMode::read)
          operands[a][i] = sum / static_cast<float>(index + a + 2);
    }
  }

 private:
  struct Task {
    std::uint32_t priority = 0;
    bool is_collective = false;
    std::vector<Access> accesses;
  };

  void launch(std::size_t task, Values& values, ModelDevice& device) const {
    const Operands used =
        operands(task, [&](DataId data) { return std::span<float>(values[data.index]); });
    std::vector<Region> regions;
    for (std::size_t i = 0; i < used.size(); ++i)
      regions.push_back(accesses(task)[i].mode == AccessMode::read ? reads(used[i])
                                                                   : writes(used[i]));
    device.launch(this_device_task().stream, regions, [this, task, used] { compute(task, used); });
  }

  void run_alone(std::size_t index, std::vector<Values>& all) const {
    const Task& task = tasks_[index];
    if (task.is_collective) {
      const std::uint32_t data = task.accesses.front().data.index;
      for (std::size_t i = 0; i < kValues; ++i) {
        float sum = 0;
        for (const Values& values : all) sum += values[data][i];
        for (Values& values : all) values[data][i] = sum;
      }
      return;
    }
    for (Values& values : all) {
      Operands operands;
      for (const Access& access : task.accesses) operands.emplace_back(values[access.data.index]);
      compute(index, operands);
    }
  }

  // The first lasting_ data persist; the others live within a step.
  std::size_t lasting_ = 0, data_ = 0;
  std::vector<Task> tasks_;
};

}  // namespace hocket
