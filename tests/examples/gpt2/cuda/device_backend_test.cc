// Tests the whole model on a simulated device: streams run their work in a random order within
// their waits, and kernels are emulated.

#include "examples/gpt2/cuda/device_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/host/local_collective.h"
#include "core/random/split_mix.h"
#include "core/scheduler/scheduler.h"
#include "core/trace/task_marker.h"
#include "examples/gpt2/model/memory.h"
#include "job/step/scheduler_submitter.h"
#include "job/training/training.h"
#include "profiler/metrics/iterations.h"
#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/model_products.h"
#include "tests/examples/gpt2/model/host_model.h"
#include "tests/job/step/submitters.h"

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
  std::int64_t steps = kSteps;  ///< steps in a phase
  bool starts_afar = false;     ///< see move_away()
  /// If not empty: a step is captured and launched with these in turn.
  std::vector<StepIssue> issues = {};
  int micro_batches = 1;
  int kept = 1;  ///< number of micro-batches with memory of their own

  TrainingOptions training() const {
    return {.steps = steps * phases, .micro_batches = micro_batches, .micro_batches_kept = kept};
  }
};

struct Outcome {
  std::vector<float> losses;
  std::uint64_t hash = 0;
  std::vector<std::vector<float>> gradients = {};  ///< gradients of the last step, by group
  std::size_t most_memory_bytes = 0;

  bool has_bits_of(const Outcome& other) const {
    return losses == other.losses && hash == other.hash && gradients == other.gradients;
  }
};

struct DeviceOutcome : Outcome {
  std::int64_t products = 0;  ///< products whose bodies ran
  std::int64_t graph_launches = 0;
  std::vector<std::string> warnings = {};
};

/// Moves parameters away from the small initial values, at which most gradients are nearly zero.
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

void expect_ok(const Result<void>& result) {
  EXPECT_TRUE(result) << result.error().message;
}

/// Runs the steps of a phase, from `step` on.
void train_phase(const DeviceRun& run, Gpt2& model, Executor& executor, std::int64_t& step) {
  ScheduleConfig config{.streams = run.streams, .micro_batches_kept = run.kept};
  Scheduler scheduler(config, executor);
  SchedulerSubmitter submitter(scheduler);
  model.attach(submitter);
  std::shared_ptr<Scheduler::Capture> captured;
  if (!run.issues.empty()) {
    scheduler.begin_capture();
    model.submit_tasks();
    captured = scheduler.end_capture();
  }
  for (std::int64_t i = 0; i < run.steps; ++i) {
    if (!captured) {
      model.submit_step(step++);
      expect_ok(scheduler.end_step());
      continue;
    }
    const StepIssue issue = run.issues[static_cast<std::size_t>(i) % run.issues.size()];
    if (std::exchange(config.step_issue, issue) != issue) expect_ok(scheduler.reconfigure(config));
    model.draw(step++);
    expect_ok(scheduler.launch(captured));
  }
  expect_ok(scheduler.synchronize());
}

DeviceOutcome train_on_device(const DeviceRun& run) {
  const KernelsInStreams kernels;
  ModelDevice device(run.seed);
  ModelProducts products(device);
  products.has_epilogues = run.has_epilogues;
  ModelAttention attention(device);
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup links(1);
  const auto messages = links.join(0);
  const SteadyClock clock;
  DeviceOutcome outcome;
  std::vector<std::string> warnings;
  {
    auto backend =
        DeviceBackend::open({.driver = device,
                             .products = products,
                             .attention = run.has_attention ? &attention : nullptr,
                             .warn = [&](const std::string& words) { warnings.push_back(words); }},
                            run.type);
    HOCKET_CHECK(backend, "the model device opens");
    auto model = Gpt2::create(run.config, run.training(), kText, **backend);
    HOCKET_CHECK(model, "the model fits");
    if (run.starts_afar) move_away(**model, **backend);
    std::int64_t step = 0;
    for (int phase = 0; phase < run.phases; ++phase) {
      DeviceExecutor executor(device, groups, (*backend)->memory(), *messages, clock);
      train_phase(run, **model, executor, step);
    }
    outcome = {{(*model)->losses(), (*model)->parameters_hash(), gradients_of(**model, **backend),
                device.most_memory_in_use()},
               products.multiplied,
               device.graph_launches()};
  }
  EXPECT_THAT(device.problems(), testing::IsEmpty());
  device.run_all();
  EXPECT_EQ(device.memory_in_use(), 0u);
  outcome.warnings = std::move(warnings);
  return outcome;
}

std::vector<float> train_on_host(std::int64_t steps, const Gpt2Config& config = kConfig,
                                 int micro_batches = 1) {
  const HostModel model(config, {.steps = steps, .micro_batches = micro_batches}, kText);
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

// Sums are added in another order, which changes the next step's losses.
TEST(DeviceBackend, LossesAreThoseOfTheHost) {
  const auto expected = train_on_host(kSteps);
  expect_near(train_on_device({}).losses, expected, 2e-5);
  expect_near(train_on_device({.streams = 3, .seed = 5}).losses, expected, 2e-5);
}

// Losses are not enough: Adam's updates do not depend on a gradient's scale.
void expect_gradients_of_the_host(DeviceRun run) {
  run.steps = 1;
  run.starts_afar = true;
  const HostModel host(kConfig, run.training(), kText);
  move_away(*host, *host.backend);
  ImmediateSubmitter submitter;
  host->attach(submitter);
  host->submit_step(0);
  const auto expected = gradients_of(*host, *host.backend);
  for (const bool has_epilogues : {false, true}) {
    run.has_epilogues = has_epilogues;
    const auto gradients = train_on_device(run).gradients;
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

TEST(DeviceBackend, GradientsAreThoseOfTheHost) {
  expect_gradients_of_the_host({});
}

TEST(DeviceBackend, AddsUpTheGradientsOfMicroBatches) {
  for (const int kept : {1, 3}) {
    SCOPED_TRACE(kept);
    expect_gradients_of_the_host({.micro_batches = 3, .kept = kept});
  }
}

TEST(DeviceBackend, LossesOfMicroBatchesAreThoseOfTheHost) {
  const auto expected = train_on_host(kSteps, kConfig, 3);
  for (const int kept : {1, 3}) {
    SCOPED_TRACE(kept);
    expect_near(train_on_device({.micro_batches = 3, .kept = kept}).losses, expected, 2e-5);
  }
  expect_near(
      train_on_device({.type = ElementType::bfloat16, .micro_batches = 3, .kept = 3}).losses,
      expected, 2e-2);
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
      const auto streams = static_cast<int>(seed);
      EXPECT_TRUE(
          train_on_device({.type = type, .streams = streams, .seed = seed}).has_bits_of(one));
    }
  }
}

// The first step runs as submitted, the second as the number of kept micro-batches allows.
TEST(DeviceBackend, BitsOfMicroBatchesDependNeitherOnStreamsNorOnHowManyAreKept) {
  const Outcome one = train_on_device({.steps = 2, .micro_batches = 3});
  std::uint64_t seed = 1;
  for (const auto& [kept, streams] :
       {std::pair(1, 3), std::pair(2, 2), std::pair(3, 1), std::pair(3, 4)}) {
    SCOPED_TRACE(testing::Message() << kept << " kept, " << streams << " streams");
    EXPECT_TRUE(
        train_on_device(
            {.streams = streams, .seed = ++seed, .steps = 2, .micro_batches = 3, .kept = kept})
            .has_bits_of(one));
  }
}

TEST(DeviceBackend, DoesWithoutEpilogues) {
  EXPECT_THAT(train_on_device({}).warnings, testing::IsEmpty());
  const DeviceOutcome without = train_on_device({.has_epilogues = false});
  expect_near(without.losses, train_on_host(kSteps), 2e-5);
  // Once for each kind of product, not for each product.
  std::set<std::string> different(without.warnings.begin(), without.warnings.end());
  EXPECT_EQ(different.size(), without.warnings.size());
  EXPECT_THAT(without.warnings, testing::Contains(testing::HasSubstr("no kernel with epilogue")));
}

TEST(DeviceBackend, OtherFailuresOfAProductAreNotTakenForAMissingKernel) {
  const KernelsInStreams kernels;
  ModelDevice device;
  ModelProducts products(device);
  products.has_epilogues = false;
  products.refusal = ErrorCode::unavailable;
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup links(1);
  const auto messages = links.join(0);
  const SteadyClock clock;
  auto backend =
      DeviceBackend::open({.driver = device, .products = products}, ElementType::float32);
  ASSERT_TRUE(backend);
  auto model = Gpt2::create(kConfig, {.steps = 1}, kText, **backend);
  ASSERT_TRUE(model);
  DeviceExecutor executor(device, groups, (*backend)->memory(), *messages, clock);
  Scheduler scheduler({}, executor);
  SchedulerSubmitter submitter(scheduler);
  (*model)->attach(submitter);
  (*model)->submit_step(0);
  const auto ok = scheduler.synchronize();
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, testing::HasSubstr("it threw: no kernel with epilogue"));
}

// Epilogues with a GELU need columns in multiples of eight, packs of elements need multiples of 16
// bytes.
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

// All kept memory exists at once if it is used twice in a step.
TEST(DeviceBackend, TakesTheMemoryThatIsCounted) {
  const DeviceRun runs[] = {
      {.type = ElementType::float32, .steps = 1, .micro_batches = 2, .kept = 1},
      {.type = ElementType::bfloat16, .steps = 1, .micro_batches = 4, .kept = 2},
      {.type = ElementType::bfloat16,
       .has_attention = true,
       .steps = 1,
       .micro_batches = 2,
       .kept = 1}};
  for (const DeviceRun& run : runs) {
    ModelDevice device;
    ModelProducts products(device);
    ModelAttention attention(device);
    const auto backend =
        DeviceBackend::open({.driver = device,
                             .products = products,
                             .attention = run.has_attention ? &attention : nullptr},
                            run.type);
    ASSERT_TRUE(backend);
    const auto counted =
        static_cast<std::size_t>(memory_bytes(run.config, run.training(), **backend));
    EXPECT_EQ(device.memory_in_use(), 0u);
    const std::size_t taken = train_on_device(run).most_memory_bytes;
    EXPECT_GE(taken, counted);
    // Allows for tokens and the kernels' scratch memory.
    EXPECT_LE(taken, counted + 2048);
  }
}

TEST(DeviceBackend, RefusesToKeepMoreThanFitsTheDevice) {
  ModelDevice device;
  ModelProducts products(device);
  const auto backend =
      DeviceBackend::open({.driver = device, .products = products}, ElementType::bfloat16);
  ASSERT_TRUE(backend);
  TrainingOptions options{.micro_batches = 8, .micro_batches_kept = 3};
  options.memory_limit_bytes = memory_bytes(kConfig, options, **backend) + 1;
  options.micro_batches_kept = 8;
  const auto refused = Gpt2::create(kConfig, options, kText, **backend);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("keep at most 3"));
  options.micro_batches_kept = 3;
  EXPECT_TRUE(Gpt2::create(kConfig, options, kText, **backend));
}

constexpr StepIssue kTasks = StepIssue::tasks, kGraph = StepIssue::graph;

TEST(DeviceBackend, StepsAsGraphsGiveTheSameBits) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const bool is_float32 = type == ElementType::float32;
    DeviceRun run{
        .type = type, .streams = is_float32 ? 1 : 3, .has_attention = !is_float32, .steps = 4};
    const DeviceOutcome tasks = train_on_device(run);
    run.issues = {kGraph};
    const DeviceOutcome graphs = train_on_device(run);
    EXPECT_TRUE(graphs.has_bits_of(tasks));
    EXPECT_EQ(tasks.graph_launches, 0);
    EXPECT_EQ(graphs.graph_launches, run.steps - 1);
    EXPECT_EQ(graphs.products, 2 * tasks.products / run.steps) << "bodies run twice";
  }
}

TEST(DeviceBackend, StepsMayBecomeGraphsAndTasksAgain) {
  DeviceRun run{.streams = 2, .phases = 2, .steps = 5};
  const DeviceOutcome tasks = train_on_device(run);
  run.issues = {kGraph, kGraph, kTasks, kGraph, kGraph};
  const DeviceOutcome mixed = train_on_device(run);
  EXPECT_TRUE(mixed.has_bits_of(tasks));
  EXPECT_EQ(mixed.graph_launches, 2 * (1 + 1)) << "each time the first only runs";
}

/// Returns the trace of a phase of a training run on a simulated device.
std::vector<TraceEvent> trace_of_phase(TrainingPhase phase) {
  const KernelsInStreams kernels;
  ModelDevice device;
  ModelProducts products(device);
  SoleRankCollective collective;
  LocalGroup group(1);
  const auto messages = group.join(0);
  const SteadyClock clock;
  DeviceGroups groups(collective, messages->mesh());
  auto backend =
      DeviceBackend::open({.driver = device, .products = products}, ElementType::float32);
  HOCKET_CHECK(backend, "the model device opens");
  auto model = Gpt2::create(kConfig, {.steps = kSteps}, kText, **backend);
  HOCKET_CHECK(model, "the model fits");
  Training training{.model = **model, .collective = *messages, .clock = clock};
  training.make_executor = [&] {
    return std::make_unique<DeviceExecutor>(device, groups, (*backend)->memory(), *messages, clock);
  };
  TraceRecorder trace;
  phase.end_step = kSteps;
  phase.options.trace = &trace;
  expect_ok(run_phase(training, phase));
  expect_near((*model)->losses(), train_on_host(kSteps), 2e-5);
  return trace.events();
}

bool is_whole_step(const TraceEvent& event) {
  return event.task == kWholeStep;
}

TEST(DeviceBackend, ATrainingLaunchesItsStepsAsGraphsWhereItIsAskedTo) {
  EXPECT_TRUE(std::ranges::none_of(trace_of_phase({}), is_whole_step));
  TrainingPhase phase{.config = {.step_issue = kGraph}};
  const auto steps = trace_of_phase(phase);
  EXPECT_EQ(steps.size(), static_cast<std::size_t>(kSteps));
  EXPECT_TRUE(std::ranges::all_of(steps, is_whole_step));
  for (const Iteration& iteration : measure_iterations(steps, 0)) EXPECT_TRUE(iteration.is_whole);
  phase.serial = true;
  EXPECT_TRUE(std::ranges::none_of(trace_of_phase(phase), is_whole_step));
}

// Draws as many steps as may be ahead of the device before it loads the first.
TEST(DeviceBackend, DrawsNoBatchOverOneThatIsStillToBeLoaded) {
  const KernelsInStreams kernels;
  ModelDevice device;
  ModelProducts products(device);
  auto backend =
      DeviceBackend::open({.driver = device, .products = products}, ElementType::float32);
  ASSERT_TRUE(backend);
  const EmbeddingShape shape{.batch = 1, .sequence = 2, .vocabulary = 8, .width = 1};
  (*backend)->allocate_batches(2, 2, 2);
  const Buffer table = (*backend)->allocate(BufferUse::master, 8);
  const Buffer positions = (*backend)->allocate(BufferUse::master, 2);
  (*backend)->store(table, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  const Count loaded[] = {(*backend)->allocate_count(1), (*backend)->allocate_count(1)};
  std::vector<Buffer> looked_up;
  for (std::int64_t i = 0; i < 2 * kDrawnSteps; ++i)
    looked_up.push_back((*backend)->allocate(BufferUse::master, 2));
  const auto stream = device.create_stream(StreamPriority::normal);
  const DeviceTask task{.stream = *stream};
  device.hold();
  for (std::int64_t step = 0; step < kDrawnSteps; ++step) {
    const RunningDeviceTask running(task);
    for (const std::size_t index : {0, 1}) {
      const auto number = 2 * step + static_cast<std::int64_t>(index);
      const BatchTokens batch = (*backend)->drawn_batch(index, step);
      batch.inputs[0] = static_cast<std::int32_t>(number);
      batch.inputs[1] = static_cast<std::int32_t>(number + 1);
      (*backend)->load_batch(index, index, loaded[index]);
    }
    // Both are loaded, and neither replaced the other on the device.
    for (const std::size_t index : {0, 1}) {
      const auto number = 2 * static_cast<std::size_t>(step) + index;
      (*backend)->embedding_forward(shape, index, table, positions, looked_up[number]);
    }
  }
  device.release();
  device.run_all();
  for (std::size_t i = 0; i < looked_up.size(); ++i) {
    const auto token = static_cast<float>(i);
    EXPECT_EQ((*backend)->load(looked_up[i]), (std::vector<float>{token, token + 1}));
  }
}

TEST(DeviceBackend, StoresAndLoadsInBothTypes) {
  ModelDevice device;
  ModelProducts products(device);
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const auto backend = DeviceBackend::open({.driver = device, .products = products}, type);
    ASSERT_TRUE(backend);
    const Buffer weights = (*backend)->allocate(BufferUse::weights, 4);
    EXPECT_EQ((*backend)->load(weights), std::vector<float>(4, 0.0f));
    // The last value lies between two bfloat16 values, nearer to the even one.
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
