// Trains graphs on the model of a device, whose streams run in random orders, with the kernels of
// the host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/placed_memory.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"
#include "job/step/scheduler_submitter.h"
#include "tests/core/cuda/model_device.h"
#include "tests/job/graph/stream_kernels.h"
#include "tests/job/graph/trained_graphs.h"
#include "tests/job/step/submitters.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kDeviceSteps = 4;

struct DeviceRun {
  std::vector<ScheduleConfig> phases = {{}};  ///< each of kDeviceSteps steps
  std::uint64_t seed = 1;
  std::int64_t micro_batches = 1;
  std::int64_t slack = 0;
  std::int64_t placed_bytes = 0;  ///< limit of a placed step; 0: it is not placed
  std::int64_t forgotten_wait = -1;
};

struct DeviceOutcome {
  std::string trained;  ///< as outcome_of()
  std::string error;
  std::vector<std::string> problems;
  std::int64_t waits = 0, graph_launches = 0;
};

PassOptions device_passes(const DeviceRun& run) {
  PassOptions passes = trained();
  passes.optimiser.clip_norm = 0;
  passes.optimiser.sums = run.placed_bytes > 0;
  passes.micro_batches.count = run.micro_batches;
  return passes;
}

/// Trains a phase, as a captured step where the configuration says so.
std::string train_phase(GraphModel& model, Scheduler& scheduler, const ScheduleConfig& config,
                        std::int64_t& step) {
  SchedulerSubmitter submitter(scheduler);
  model.attach(submitter);
  std::shared_ptr<StepCapture> captured;
  for (std::int64_t i = 0; i < kDeviceSteps; ++i) {
    model.draw(step++);
    if (config.step_issue == StepIssue::graph) {
      if (!captured) {
        scheduler.begin_capture();
        model.submit_tasks();
        captured = scheduler.end_capture();
      }
      if (auto ok = scheduler.launch(captured); !ok) return ok.error().message;
      continue;
    }
    model.submit_tasks();
    if (auto ok = scheduler.end_step(); !ok) return ok.error().message;
  }
  const auto ended = scheduler.synchronize();
  return ended ? "" : ended.error().message;
}

DeviceOutcome train_on_device(const TrainedCase& of, const DeviceRun& run) {
  ModelDevice device(run.seed);
  StreamMemory memory(device);
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup links(1);
  const auto messages = links.join(0);
  const SteadyClock clock;
  DeviceOutcome outcome;
  {
    const auto placed =
        run.placed_bytes > 0 ? PlacedMemory::open(device, run.placed_bytes).value() : nullptr;
    const auto phases = static_cast<std::int64_t>(run.phases.size());
    const auto model = model_of(of, device_passes(run),
                                {.table = stream_kernels(),
                                 .device = KernelDevice::cuda,
                                 .memory = memory,
                                 .options = {.steps = kDeviceSteps * phases,
                                             .slack_operations = run.slack,
                                             .placed = placed.get()}});
    DeviceMemory none(device);
    std::int64_t step = 0;
    for (const ScheduleConfig& config : run.phases) {
      DeviceExecutor executor(device, groups, none, *messages, clock);
      Scheduler scheduler(config, executor, {.memory = placed.get()});
      device.forget_wait(run.forgotten_wait);
      outcome.error = train_phase(*model, scheduler, config, step);
      if (!outcome.error.empty()) break;
    }
    if (outcome.error.empty()) outcome.trained = outcome_of(*model, step);
  }
  device.run_all();
  outcome.problems = device.problems();
  outcome.waits = device.waits();
  outcome.graph_launches = device.graph_launches();
  return outcome;
}

std::string trained_on_host(const TrainedCase& of, const DeviceRun& run) {
  const std::int64_t steps = kDeviceSteps * static_cast<std::int64_t>(run.phases.size());
  const auto model = model_of(of, device_passes(run), {.options = {.steps = steps}});
  ImmediateSubmitter submitter;
  model->attach(submitter);
  for (std::int64_t step = 0; step < steps; ++step) {
    model->draw(step);
    model->submit_tasks();
  }
  return outcome_of(*model, steps);
}

TEST(DeviceGraph, EveryOrderOfStreamsGivesTheBitsOfTheHost) {
  for (const TrainedCase& of : trained_cases()) {
    SCOPED_TRACE(of.model);
    for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const DeviceRun run{
          .phases = {{.streams = 1 + static_cast<int>(seed % 4),
                      .step_issue = seed % 3 == 2 ? StepIssue::graph : StepIssue::tasks}},
          .seed = seed,
          .micro_batches = 1 + static_cast<std::int64_t>(seed % 2),
          .slack = static_cast<std::int64_t>(seed % 2 * 16)};
      const DeviceOutcome outcome = train_on_device(of, run);
      ASSERT_EQ(outcome.error, "");
      EXPECT_THAT(outcome.problems, IsEmpty());
      EXPECT_EQ(outcome.trained, trained_on_host(of, run));
      EXPECT_EQ(outcome.graph_launches > 1, seed % 3 == 2);
    }
  }
}

TEST(DeviceGraph, AForgottenWaitIsFound) {
  const TrainedCase of{"mlp", {{"layers", 1}, {"width", 4}, {"inputs", 4}, {"classes", 2}}};
  DeviceRun run{.phases = {{.streams = 3}}};
  const DeviceOutcome whole = train_on_device(of, run);
  ASSERT_EQ(whole.error, "");
  EXPECT_GT(whole.waits, 20);
  std::int64_t found = 0;
  for (std::int64_t wait = 0; wait < whole.waits; ++wait) {
    run.forgotten_wait = wait;
    if (!train_on_device(of, run).problems.empty()) ++found;
  }
  // Leaving out a wait goes unnoticed if the host or another wait orders the same work.
  EXPECT_GT(found, whole.waits / 2);
}

TEST(PlacedGraph, EveryNumberOfLayersGivesTheBitsOfTheHost) {
  for (const TrainedCase& of : trained_cases()) {
    for (std::int64_t k = 0; k <= 4; ++k) {
      SCOPED_TRACE(std::string(of.model) + " with offload_k " + std::to_string(k));
      const DeviceRun run{.phases = {{.streams = 1 + static_cast<int>(k % 3), .offload_k = k},
                                     {.offload_k = 4 - k, .prefetch_layers = 2}},
                          .seed = static_cast<std::uint64_t>(k),
                          .micro_batches = 1 + k % 2,
                          .placed_bytes = 1 << 20};
      const DeviceOutcome outcome = train_on_device(of, run);
      ASSERT_EQ(outcome.error, "");
      EXPECT_THAT(outcome.problems, IsEmpty());
      EXPECT_EQ(outcome.trained, trained_on_host(of, run));
    }
  }
}

TEST(PlacedGraph, AStepThatDoesNotFitIsRefusedWithItsTask) {
  const DeviceOutcome refused =
      train_on_device({"gpt2", kGpt2}, {.phases = {{.offload_k = 0}}, .placed_bytes = 8'192});
  EXPECT_THAT(refused.error, HasSubstr("B on the device at once"));
  EXPECT_THAT(refused.error, HasSubstr("device_memory_bytes is 8192"));
}

}  // namespace
}  // namespace hocket
