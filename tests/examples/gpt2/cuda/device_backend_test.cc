// The whole model on a device that is a model: streams run what was put into them in a random order
// as far as waits allow, kernels are emulated.

#include "examples/gpt2/cuda/device_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/cuda/device_collective.h"
#include "core/cuda/device_executor.h"
#include "core/host/local_collective.h"
#include "examples/gpt2/random.h"
#include "examples/gpt2/scheduler_submitter.h"
#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"
#include "tests/examples/gpt2/cuda/model_products.h"
#include "tests/examples/gpt2/host_model.h"
#include "tests/examples/gpt2/submitters.h"

namespace hocket {
namespace {

constexpr std::int64_t kSteps = 3;
constexpr Gpt2Config kConfig{
    .layers = 2, .heads = 2, .d_model = 16, .sequence = 6, .batch = 2, .vocabulary = 128};
const Text kText("whoever rests while the others sing is part of the song all the same");

struct DeviceRun {
  ElementType type = ElementType::float32;
  int streams = 1;
  std::uint64_t seed = 1;
  bool has_epilogues = true, has_attention = false;
  int phases = 1;
  Gpt2Config config = kConfig;
  std::int64_t steps = kSteps;  ///< of a phase
  bool starts_afar = false;     ///< see move_away()
};

struct Outcome {
  std::vector<float> losses;
  std::uint64_t hash = 0;
  std::vector<std::vector<float>> gradients = {};  ///< by group, of the last step

  bool operator==(const Outcome&) const = default;
};

/// Away from the small initial values, with which most gradients are next to nothing.
void move_away(Gpt2& model, Backend& backend) {
  for (const ParameterGroup& group : model.groups()) {
    std::vector<float> values = backend.load(group.parameters());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += 0.3f * random_normal(group.priorities().forward, i);
    backend.store(group.parameters(), values);
  }
}

std::vector<std::vector<float>> gradients_of(Gpt2& model, const Backend& backend) {
  std::vector<std::vector<float>> gradients;
  for (const ParameterGroup& group : model.groups())
    gradients.push_back(backend.load(group.gradients()));
  return gradients;
}

Outcome train_on_device(const DeviceRun& run) {
  ModelDevice device(run.seed);
  emulated::set_put_work([&](DeviceStream stream, std::function<void()> work) {
    device.launch(stream, {}, std::move(work));
  });
  ModelProducts products(device);
  products.has_epilogues = run.has_epilogues;
  ModelAttention attention(device);
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup group(1);
  const auto messages = group.join(0);
  const SteadyClock clock;
  Outcome outcome;
  {
    auto backend = DeviceBackend::open({.driver = device,
                                        .products = products,
                                        .attention = run.has_attention ? &attention : nullptr},
                                       run.type);
    HOCKET_CHECK(backend, "the model device opens");
    auto model = Gpt2::create(run.config, {.steps = run.steps * run.phases}, kText, **backend);
    HOCKET_CHECK(model, "the model fits");
    if (run.starts_afar) move_away(**model, **backend);
    std::int64_t step = 0;
    for (int phase = 0; phase < run.phases; ++phase) {
      DeviceExecutor executor(device, groups, (*backend)->memory(), *messages, clock);
      Scheduler scheduler({.streams = run.streams}, executor);
      SchedulerSubmitter submitter(scheduler);
      (*model)->attach(submitter);
      for (std::int64_t i = 0; i < run.steps; ++i) {
        (*model)->submit_step(step++);
        const auto ended = scheduler.end_step();
        EXPECT_TRUE(ended) << ended.error().message;
      }
      const auto done = scheduler.synchronize();
      EXPECT_TRUE(done) << done.error().message;
    }
    outcome = {(*model)->losses(), (*model)->parameters_hash(), gradients_of(**model, **backend)};
  }
  EXPECT_THAT(device.problems(), testing::IsEmpty());
  device.run_all();
  EXPECT_EQ(device.memory_in_use(), 0u);
  emulated::set_put_work(nullptr);
  return outcome;
}

std::vector<float> train_on_host(std::int64_t steps, const Gpt2Config& config = kConfig) {
  const HostModel model(config, {.steps = steps}, kText);
  ImmediateSubmitter submitter;
  model->attach(submitter);
  for (std::int64_t step = 0; step < steps; ++step) model->submit_step(step);
  return model->losses();
}

void expect_near(const std::vector<float>& losses, const std::vector<float>& expected,
                 double tolerance) {
  ASSERT_EQ(losses.size(), expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], expected[i], tolerance) << "step " << i;
}

// Sums are added in another order, and the next step's losses follow from that.
TEST(DeviceBackend, LossesAreThoseOfTheHost) {
  const auto expected = train_on_host(kSteps);
  expect_near(train_on_device({}).losses, expected, 2e-5);
  expect_near(train_on_device({.streams = 3, .seed = 5}).losses, expected, 2e-5);
}

// Losses alone would not tell: Adam's updates do not depend on a gradient's scale.
TEST(DeviceBackend, GradientsAreThoseOfTheHost) {
  const HostModel host(kConfig, {.steps = 1}, kText);
  move_away(*host, *host.backend);
  ImmediateSubmitter submitter;
  host->attach(submitter);
  host->submit_step(0);
  const auto expected = gradients_of(*host, *host.backend);
  for (const bool has_epilogues : {false, true}) {
    const auto gradients =
        train_on_device({.has_epilogues = has_epilogues, .steps = 1, .starts_afar = true})
            .gradients;
    ASSERT_EQ(gradients.size(), expected.size());
    for (std::size_t group = 0; group < expected.size(); ++group) {
      float largest = 0;
      for (const float value : expected[group]) largest = std::max(largest, std::abs(value));
      ASSERT_GT(largest, 1e-3);
      for (std::size_t i = 0; i < expected[group].size(); ++i)
        ASSERT_NEAR(gradients[group][i], expected[group][i], 1e-4 * largest)
            << "group " << group << ", element " << i;
    }
  }
}

// bfloat16 has 8 bits of fraction, and a loss is a mean over tokens.
TEST(DeviceBackend, Bfloat16IsNearTheHost) {
  const auto expected = train_on_host(kSteps);
  for (const bool has_attention : {false, true}) {
    expect_near(
        train_on_device({.type = ElementType::bfloat16, .has_attention = has_attention}).losses,
        expected, 2e-2);
  }
}

TEST(DeviceBackend, BitsDependNeitherOnStreamsNorOnTheirOrder) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const Outcome one = train_on_device({.type = type});
    for (std::uint64_t seed = 2; seed < 5; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      EXPECT_EQ(train_on_device({.type = type, .streams = static_cast<int>(seed), .seed = seed}),
                one);
    }
  }
}

TEST(DeviceBackend, DoesWithoutEpilogues) {
  expect_near(train_on_device({.has_epilogues = false}).losses, train_on_host(kSteps), 2e-5);
}

// Epilogues with a GELU are for columns by eights, packs of elements for whole 16 bytes.
TEST(DeviceBackend, TakesOddSizes) {
  Gpt2Config config = kConfig;
  config.d_model = 15;
  config.heads = 3;
  config.sequence = 5;
  config.vocabulary = 127;
  expect_near(train_on_device({.config = config}).losses, train_on_host(kSteps, config), 2e-5);
  expect_near(train_on_device({.type = ElementType::bfloat16, .config = config}).losses,
              train_on_host(kSteps, config), 2e-2);
}

TEST(DeviceBackend, ServesOnePhaseAfterTheOther) {
  expect_near(train_on_device({.streams = 2, .phases = 2}).losses, train_on_host(2 * kSteps), 5e-5);
}

// As many steps as may be ahead of the device are drawn before it copies the first.
TEST(DeviceBackend, DrawsNoBatchOverOneThatIsStillToBeCopied) {
  ModelDevice device;
  emulated::set_put_work([&](DeviceStream stream, std::function<void()> work) {
    device.launch(stream, {}, std::move(work));
  });
  ModelProducts products(device);
  auto backend =
      DeviceBackend::open({.driver = device, .products = products}, ElementType::float32);
  ASSERT_TRUE(backend);
  const EmbeddingShape shape{.batch = 1, .sequence = 2, .vocabulary = 8, .width = 1};
  (*backend)->allocate_batches(1, 2);
  const Buffer table = (*backend)->allocate(BufferUse::master, 8);
  const Buffer positions = (*backend)->allocate(BufferUse::master, 2);
  (*backend)->store(table, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  std::vector<Buffer> looked_up;
  for (std::int64_t step = 0; step <= Scheduler::kStepsAhead; ++step)
    looked_up.push_back((*backend)->allocate(BufferUse::master, 2));
  const auto stream = device.create_stream(StreamPriority::normal);
  const DeviceTask task{.stream = *stream};
  device.hold();
  for (std::int64_t step = 0; step <= Scheduler::kStepsAhead; ++step) {
    const RunningDeviceTask running(task);
    (*backend)->load_batch(0, step, [&](auto inputs, auto) {
      inputs[0] = static_cast<std::int32_t>(step);
      inputs[1] = static_cast<std::int32_t>(step + 1);
    });
    (*backend)->embedding_forward(shape, 0, table, positions,
                                  looked_up[static_cast<std::size_t>(step)]);
  }
  device.release();
  device.run_all();
  for (std::int64_t step = 0; step <= Scheduler::kStepsAhead; ++step) {
    const auto tokens = static_cast<float>(step);
    EXPECT_EQ((*backend)->load(looked_up[static_cast<std::size_t>(step)]),
              (std::vector<float>{tokens, tokens + 1}));
  }
  emulated::set_put_work(nullptr);
}

TEST(DeviceBackend, StoresAndLoadsInBothTypes) {
  ModelDevice device;
  ModelProducts products(device);
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const auto backend = DeviceBackend::open({.driver = device, .products = products}, type);
    ASSERT_TRUE(backend);
    const Buffer weights = (*backend)->allocate(BufferUse::weights, 4);
    EXPECT_EQ((*backend)->load(weights), std::vector<float>(4, 0.0f));
    // The last is between two that bfloat16 has, and nearer to the even one.
    const std::vector<float> values{1, -2.5, 0, 1 + 1.0f / 256};
    (*backend)->store({weights, 1, 3}, std::span(values).first(3));
    EXPECT_EQ((*backend)->load(weights), (std::vector<float>{0, 1, -2.5, 0}));
    (*backend)->store({weights, 0, 1}, std::span(values).last(1));
    EXPECT_EQ((*backend)->load({weights, 0, 1})[0],
              type == ElementType::float32 ? values[3] : 1.0f);
  }
}

TEST(DeviceBackend, SaysWhatTheDeviceSays) {
  ModelDevice device;
  device.fail_at(0);
  ModelProducts products(device);
  const auto backend =
      DeviceBackend::open({.driver = device, .products = products}, ElementType::float32);
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
