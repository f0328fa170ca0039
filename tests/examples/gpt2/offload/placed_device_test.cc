// Trains the whole model on a simulated device of limited memory and its host: copies and updates
// of the host in streams of their own, kernels emulated.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/placed_memory.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"
#include "examples/gpt2/cuda/device_backend.h"
#include "job/step/scheduler_submitter.h"
#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"
#include "tests/examples/gpt2/cuda/model_products.h"
#include "tests/examples/gpt2/model/host_model.h"
#include "tests/job/step/submitters.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr Gpt2Config kSmallModel{
    .layers = 3, .heads = 2, .d_model = 16, .sequence = 6, .batch = 2, .vocabulary = 128};
constexpr std::int64_t kPlacedSteps = 4;
const Text kPlacedText("one voice sounds while the other rests and then the other way round again");

Gpt2Config small_model(int layers) {
  Gpt2Config config = kSmallModel;
  config.layers = layers;
  return config;
}

struct PlacedRun {
  std::int64_t limit_bytes = 1 << 20;
  std::vector<ScheduleConfig> phases = {{}};  ///< each of kPlacedSteps steps
  std::uint64_t seed = 1;
  int micro_batches = 1;
  int layers = kSmallModel.layers;
};

struct PlacedOutcome {
  std::vector<float> losses;
  std::uint64_t hash = 0;
  std::string error;
};

PlacedOutcome train_placed(const PlacedRun& run) {
  const KernelsInStreams kernels;
  ModelDevice device(run.seed);
  ModelProducts products(device);
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup links(1);
  const auto messages = links.join(0);
  const SteadyClock clock;
  PlacedOutcome outcome;
  {
    const auto memory = PlacedMemory::open(device, run.limit_bytes).value();
    const auto backend = DeviceBackend::open(
        {.driver = device, .products = products, .placed = memory.get()}, ElementType::float32);
    HOCKET_CHECK(backend, "the model device opens");
    const auto phases = static_cast<std::int64_t>(run.phases.size());
    const auto model =
        Gpt2::create(small_model(run.layers),
                     {.steps = kPlacedSteps * phases, .micro_batches = run.micro_batches},
                     kPlacedText, **backend);
    HOCKET_CHECK(model, "the host has room for the model");
    std::int64_t step = 0;
    for (const ScheduleConfig& config : run.phases) {
      DeviceExecutor executor(device, groups, (*backend)->memory(), *messages, clock);
      Scheduler scheduler(config, executor, {.memory = memory.get()});
      SchedulerSubmitter submitter(scheduler);
      (*model)->attach(submitter);
      for (std::int64_t i = 0; i < kPlacedSteps && outcome.error.empty(); ++i) {
        (*model)->submit_step(step++);
        if (auto ok = scheduler.end_step(); !ok) outcome.error = ok.error().message;
      }
      if (auto ok = scheduler.synchronize(); !ok) outcome.error = ok.error().message;
    }
    if (outcome.error.empty()) {
      outcome.losses = (*model)->losses();
      outcome.hash = (*model)->parameters_hash();
    }
    EXPECT_THAT(device.problems(), testing::IsEmpty());
  }
  device.run_all();
  return outcome;
}

std::vector<float> losses_on_host(std::int64_t steps, int micro_batches, int layers) {
  const HostModel model(small_model(layers), {.steps = steps, .micro_batches = micro_batches},
                        kPlacedText);
  ImmediateSubmitter submitter;
  model->attach(submitter);
  for (std::int64_t step = 0; step < steps; ++step) model->submit_step(step);
  return model->losses();
}

void expect_near_host(const PlacedOutcome& outcome, int micro_batches = 1,
                      int layers = kSmallModel.layers) {
  ASSERT_EQ(outcome.error, "");
  const auto expected =
      losses_on_host(static_cast<std::int64_t>(outcome.losses.size()), micro_batches, layers);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(outcome.losses[i], expected[i], 5e-5) << "step " << i;
}

TEST(PlacedDeviceModel, LossesAreThoseOfTheHostForEveryNumberOfLayers) {
  for (std::int64_t k = 0; k <= 5; ++k) {
    SCOPED_TRACE("offload_k " + std::to_string(k));
    const auto seed = static_cast<std::uint64_t>(k);
    expect_near_host(train_placed(
        {.phases = {{.streams = 1 + static_cast<int>(k % 3), .offload_k = k}}, .seed = seed}));
  }
}

// One block leaves one of the two sets of gradients, which blocks use in turn, without a task.
TEST(PlacedDeviceModel, DataThatNoTaskAccessesNeedNotBeAdded) {
  for (const std::int64_t k : {0, 2}) {
    SCOPED_TRACE("offload_k " + std::to_string(k));
    expect_near_host(train_placed({.phases = {{.offload_k = k}}, .layers = 1}), 1, 1);
  }
}

TEST(PlacedDeviceModel, UpdatesOfTheHostHaveTheSameBitsUnderEverySchedule) {
  const PlacedOutcome first = train_placed({.phases = {{.offload_k = 1}}});
  ASSERT_EQ(first.error, "");
  for (const std::int64_t prefetch_layers : {0, 2, 64}) {
    const PlacedOutcome other = train_placed(
        {.phases = {{.streams = 2, .offload_k = 1, .prefetch_layers = prefetch_layers}},
         .seed = 7});
    EXPECT_EQ(other.losses, first.losses);
    EXPECT_EQ(other.hash, first.hash);
  }
}

TEST(PlacedDeviceModel, ValuesMoveBetweenTheSidesFromPhaseToPhase) {
  expect_near_host(train_placed({.phases = {{.offload_k = 0}, {.offload_k = 5}, {.offload_k = 2}},
                                 .micro_batches = 2}),
                   2);
}

TEST(PlacedDeviceModel, AStepThatDoesNotFitIsRefusedWithItsTask) {
  const PlacedOutcome refused = train_placed({.limit_bytes = 16'384, .phases = {{.offload_k = 0}}});
  EXPECT_THAT(refused.error, HasSubstr("B on the device at once"));
  EXPECT_THAT(refused.error, HasSubstr("device_memory_bytes is 16384"));
}

TEST(PlacedDeviceModel, IsInFloat32Alone) {
  ModelDevice device;
  ModelProducts products(device);
  const auto memory = PlacedMemory::open(device, 1 << 20).value();
  const auto refused = DeviceBackend::open(
      {.driver = device, .products = products, .placed = memory.get()}, ElementType::bfloat16);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("leave out bfloat16"));
}

}  // namespace
}  // namespace hocket
