#pragma once

// Trains a model on an emulated device of limited memory, or on the host, in this process. Ranks
// are threads.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/host/emulation/emulated_device.h"
#include "core/host/host_executor.h"
#include "core/placement/described_placement.h"
#include "job/step/scheduler_submitter.h"
#include "job/step/step_recorder.h"
#include "tests/core/host/ranks.h"
#include "tests/job/graph/language_model.h"

namespace hocket {

inline Gpt2Options offloaded_model() {
  return small_gpt2(2, 16, 8);
}
/// Layers of its data: the embedding, the blocks and the head.
inline constexpr std::int64_t kOffloadedLayers = 4;

/// Memory of which the copy or the collective of this number throws, counted from 0.
class FaultyMemory final : public OffloadMemory {
 public:
  explicit FaultyMemory(OffloadMemory& memory) : memory_(memory) {}

  Result<void> forget() override { return memory_.forget(); }
  void add(DataId data, const OffloadedData& added) override { memory_.add(data, added); }
  void* at(DataId data) const override { return memory_.at(data); }
  PlacementSite home(DataId data) const override { return memory_.home(data); }
  std::int64_t device_memory_bytes() const override { return memory_.device_memory_bytes(); }
  Result<void> place(std::span<const DataAddress> data) override {
    if (fails_to_place) return failure(ErrorCode::unavailable, "injected failure");
    return memory_.place(data);
  }
  void copy_to_device(DataId data) override {
    count();
    memory_.copy_to_device(data);
  }
  void copy_to_host(DataId data) override {
    count();
    memory_.copy_to_host(data);
  }
  std::span<float> on_device(DataId data, std::span<float> values) override {
    return memory_.on_device(data, values);
  }

  std::atomic<int> copies = 0, fails_at = -1;
  bool fails_to_place = false;

 private:
  void count() {
    if (copies++ == fails_at) throw std::runtime_error("injected failure");
  }

  OffloadMemory& memory_;
};

/// Lets the body of the task of this name throw.
class ThrowingSubmitter final : public Submitter {
 public:
  ThrowingSubmitter(Submitter& submitter, std::string name)
      : submitter_(submitter), name_(std::move(name)) {}

  RankGrid grid() const override { return submitter_.grid(); }
  DataId add_data(const DataPlace& place, std::string_view name) override {
    return submitter_.add_data(place, name);
  }
  void compute(const TaskOptions& options, std::span<const Access> accesses,
               TaskBody body) override {
    if (options.name == name_) body = [] { throw std::runtime_error("injected failure"); };
    submitter_.compute(options, accesses, std::move(body));
  }
  void compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                      PieceBody body) override {
    if (options.name == name_)
      body = [](const TaskPiece&) { throw std::runtime_error("injected failure"); };
    submitter_.compute_pieces(options, accesses, std::move(body));
  }
  void all_reduce(const TaskOptions& options, DataId data, std::span<float> values) override {
    submitter_.all_reduce(options, data, values);
  }
  void reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) override {
    submitter_.reduce_scatter(options, data, values);
  }
  void all_gather(const TaskOptions& options, DataId data, std::span<float> values) override {
    submitter_.all_gather(options, data, values);
  }

 private:
  Submitter& submitter_;
  const std::string name_;
};

/// A rank of the job.
class OffloadedJob {
 public:
  /// Without a device it trains on the host.
  OffloadedJob(Collective& collective, LanguageTraining training, const ScheduleConfig& config,
               std::optional<std::int64_t> device_bytes, std::string throws_at = "")
      : executor_(collective, clock_) {
    training.rank = collective.rank();
    training.grid = {collective.world_size(), collective.ranks_per_host()};
    if (device_bytes) {
      device = EmulatedDevice::create({.memory_bytes = *device_bytes}, clock_).value();
      memory = std::make_unique<FaultyMemory>(*device);
    }
    training.placed = memory.get();
    model = std::make_unique<LanguageModel>(offloaded_model(), training);
    scheduler =
        std::make_unique<Scheduler>(config, executor_, SchedulerOptions{.memory = memory.get()});
    submitter_.emplace(*scheduler);
    throwing_.emplace(*submitter_, std::move(throws_at));
    (*model)->attach(*throwing_);
  }

  /// Trains so many steps more.
  Result<void> run(int steps) {
    for (int i = 0; i < steps; ++i) {
      model->submit_step(step_++);
      HOCKET_TRY(scheduler->end_step());
    }
    return scheduler->synchronize();
  }

 private:
  const SteadyClock clock_;
  HostExecutor executor_;
  std::optional<SchedulerSubmitter> submitter_;
  std::optional<ThrowingSubmitter> throwing_;
  std::int64_t step_ = 0;

 public:
  std::unique_ptr<EmulatedDevice> device;
  std::unique_ptr<FaultyMemory> memory;
  std::unique_ptr<LanguageModel> model;
  // Its tasks end before what they use goes.
  std::unique_ptr<Scheduler> scheduler;
};

struct OffloadedOutcome {
  std::vector<float> losses;
  std::size_t hash = 0;

  explicit OffloadedOutcome(const LanguageModel& model)
      : losses(model.losses()), hash(model.hash()) {}
  bool operator==(const OffloadedOutcome&) const = default;
};

/// Returns the outcome of one rank after all steps of `training`.
inline OffloadedOutcome train_alone(const LanguageTraining& training, const ScheduleConfig& config,
                                    std::optional<std::int64_t> device_bytes) {
  LocalGroup group(1);
  const auto collective = group.join(0);
  OffloadedJob job(*collective, training, config, device_bytes);
  const auto ran = job.run(static_cast<int>(training.steps));
  EXPECT_TRUE(ran) << ran.error().message;
  if (job.device) {
    EXPECT_LE(job.device->highest_address_bytes(), *device_bytes);
    EXPECT_GT(job.device->highest_address_bytes(), 0);
  }
  return OffloadedOutcome(*job.model);
}

/// Returns the step of the job on a device of so much memory.
inline StepDescription offloaded_step(LanguageTraining training, std::int64_t device_bytes) {
  const SteadyClock clock;
  const auto device = EmulatedDevice::create({.memory_bytes = 256}, clock).value();
  training.placed = device.get();
  const LanguageModel model(offloaded_model(), training);
  StepDescription step = record_step(*model);
  step.device_memory_bytes = device_bytes;
  return step;
}

/// Returns the least memory, in units of 256 bytes, from which on the step can be placed.
inline std::int64_t least_device_bytes(const LanguageTraining& training,
                                       const ScheduleConfig& config) {
  StepDescription step = offloaded_step(training, 0);
  std::int64_t fits = 1 << 16, too_small = 0;  // in units
  while (fits - too_small > 1) {
    const std::int64_t middle = (fits + too_small) / 2;
    step.device_memory_bytes = 256 * middle;
    (place_description(step, config) ? fits : too_small) = middle;
  }
  return 256 * fits;
}

}  // namespace hocket
