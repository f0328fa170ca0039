// Trains graphs with the kernels of CUDA devices, which are emulated, on the model of a device
// whose streams run in random orders.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"
#include "job/step/scheduler_submitter.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/cuda_memory.h"
#include "tests/core/cuda/model_device.h"
#include "tests/job/graph/trained_graphs.h"
#include "tests/job/step/submitters.h"
#include "tests/kernels/cuda/stream_products.h"

namespace hocket {
namespace {

using testing::IsEmpty;

constexpr std::int64_t kCudaSteps = 3;

PassOptions cuda_passes(NumberType computes, std::int64_t micro_batches) {
  PassOptions passes = trained();
  passes.optimiser.clip_norm = 0;
  passes.needed.outputs = {"loss"};
  passes.precision.computes = computes;
  passes.micro_batches.count = micro_batches;
  return passes;
}

std::vector<float> losses_of(const GraphModel& model) {
  std::vector<float> losses;
  for (std::int64_t step = 0; step < kCudaSteps; ++step)
    losses.push_back(model.output("loss", step));
  return losses;
}

std::vector<float> losses_on_host(const TrainedCase& of, std::int64_t micro_batches) {
  const auto model = model_of(of, cuda_passes(NumberType::float32, micro_batches),
                              {.options = {.steps = kCudaSteps}});
  ImmediateSubmitter submitter;
  model->attach(submitter);
  for (std::int64_t step = 0; step < kCudaSteps; ++step) {
    model->draw(step);
    model->submit_tasks();
  }
  return losses_of(*model);
}

/// Trains on the model of a device, with each step as a graph if `captured`.
std::vector<float> losses_on_device(const TrainedCase& of, const PassOptions& passes,
                                    std::uint64_t seed, bool captured) {
  const KernelsInStreams kernels;
  ModelDevice device(seed);
  StreamProducts products(device);
  KernelTable table;
  add_cuda_kernels(table, {.products = products});
  const auto memory = open_cuda_memory(device).value();
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup links(1);
  const auto messages = links.join(0);
  const SteadyClock clock;
  std::vector<float> losses;
  {
    const auto model = model_of(of, passes,
                                {.table = table,
                                 .device = KernelDevice::cuda,
                                 .memory = *memory,
                                 .options = {.steps = kCudaSteps}});
    DeviceMemory none(device);
    DeviceExecutor executor(device, groups, none, *messages, clock);
    Scheduler scheduler(
        {.streams = 3, .step_issue = captured ? StepIssue::graph : StepIssue::tasks}, executor);
    SchedulerSubmitter submitter(scheduler);
    model->attach(submitter);
    std::shared_ptr<StepCapture> step;
    for (std::int64_t i = 0; i < kCudaSteps; ++i) {
      model->draw(i);
      if (captured && step == nullptr) scheduler.begin_capture();
      if (step == nullptr) model->submit_tasks();
      if (captured && step == nullptr) step = scheduler.end_capture();
      const auto done = captured ? scheduler.launch(step) : scheduler.end_step();
      EXPECT_TRUE(done) << done.error().message;
    }
    const auto ended = scheduler.synchronize();
    EXPECT_TRUE(ended) << ended.error().message;
    losses = losses_of(*model);
  }
  device.run_all();
  EXPECT_THAT(device.problems(), IsEmpty());
  return losses;
}

TEST(CudaGraph, TrainsEachModelAsTheHostDoes) {
  std::uint64_t seed = 0;
  for (const TrainedCase& of : trained_cases()) {
    for (const NumberType computes : {NumberType::float32, NumberType::bfloat16}) {
      SCOPED_TRACE(std::string(of.model) + " in " + std::string(to_string(computes)));
      const std::int64_t micro_batches = 1 + static_cast<std::int64_t>(seed % 2);
      const PassOptions passes = cuda_passes(computes, micro_batches);
      const std::vector<float> expected = losses_on_host(of, micro_batches);
      const std::vector<float> tasks = losses_on_device(of, passes, ++seed, false);
      const double tolerance = computes == NumberType::float32 ? 1e-5 : 2e-2;
      for (std::size_t step = 0; step < expected.size(); ++step)
        EXPECT_NEAR(tasks[step], expected[step], tolerance * expected[step]) << "step " << step;
      EXPECT_EQ(losses_on_device(of, passes, ++seed, true), tasks) << "as graphs";
    }
  }
}

}  // namespace
}  // namespace hocket
