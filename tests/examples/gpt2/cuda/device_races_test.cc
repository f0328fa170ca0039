// Tests that the model of a device sees all memory that the whole model uses: it finds a race
// whichever wait between tasks is forgotten.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"
#include "examples/gpt2/cuda/device_backend.h"
#include "examples/gpt2/model/model.h"
#include "job/step/scheduler_submitter.h"
#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/model_products.h"

namespace hocket {
namespace {

constexpr std::int64_t kNoWait = -1;
constexpr int kRacesStreams = 3;
constexpr std::size_t kLanes = kRacesStreams + 1;  // with that of the collectives
const Text kRacesText("a kernel that waits for nobody meets everybody");

struct RacesOutcome {
  std::int64_t waits = 0;
  std::vector<std::string> problems;
};

/// Runs one step as a whole, in which the host observes nothing until all of it is in streams, so
/// that waits alone order it. Without the wait number `forgotten`, if there is one.
RacesOutcome run_step(ElementType type, std::int64_t forgotten) {
  const KernelsInStreams kernels;
  ModelDevice device;
  ModelProducts products(device);
  ModelAttention attention(device);
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup links(1);
  const auto messages = links.join(0);
  const SteadyClock clock;
  {
    const auto backend = DeviceBackend::open(
        {.driver = device, .products = products, .attention = &attention}, type);
    HOCKET_CHECK(backend, "the model device opens");
    const Gpt2Config config{
        .layers = 1, .heads = 2, .d_model = 16, .sequence = 4, .batch = 1, .vocabulary = 128};
    const auto model =
        Gpt2::create(config, {.steps = 1, .micro_batches = 2}, kRacesText, **backend);
    HOCKET_CHECK(model, "the model fits");
    DeviceExecutor executor(device, groups, (*backend)->memory(), *messages, clock);
    Scheduler scheduler(
        {.streams = kRacesStreams, .comm_channels = 1, .step_issue = StepIssue::graph}, executor);
    SchedulerSubmitter submitter(scheduler);
    (*model)->attach(submitter);
    scheduler.begin_capture();
    (*model)->submit_tasks();
    const auto captured = scheduler.end_capture();
    (*model)->draw(0);
    device.forget_wait(forgotten);
    const auto launched = scheduler.launch(captured);
    EXPECT_TRUE(launched) << launched.error().message;
    const auto ended = scheduler.synchronize();
    EXPECT_TRUE(ended) << ended.error().message;
  }
  device.run_all();
  return {device.waits(), device.problems()};
}

TEST(DeviceRaces, AForgottenWaitIsFound) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const RacesOutcome whole = run_step(type, kNoWait);
    EXPECT_THAT(whole.problems, testing::IsEmpty());
    EXPECT_GT(whole.waits, 30);
    std::vector<std::int64_t> missed;
    for (std::int64_t wait = 0; wait < whole.waits; ++wait)
      if (run_step(type, wait).problems.empty()) missed.push_back(wait);
    // Waits that fork the step's streams from one and join them again order it only with others.
    EXPECT_LE(missed.size(), 2 * kLanes) << testing::PrintToString(missed);
  }
}

}  // namespace
}  // namespace hocket
