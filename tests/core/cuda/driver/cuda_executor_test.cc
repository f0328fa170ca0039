// Tests the executor with the CUDA runtime, without a kernel: a task copies its inputs to the host,
// computes in a function that the stream calls, and copies the results back. A stream that lacks a
// wait therefore produces a different result.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/cuda/driver/cuda_stream.h"
#include "core/cuda/executor/device_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/cuda/on_device.h"
#include "tests/core/cuda/random_program.h"

namespace hocket {
namespace {

void must(cudaError_t error) {
  HOCKET_CHECK(error == cudaSuccess, cudaGetErrorString(error));
}

/// Host memory for copies that run while the host continues. No range is used twice.
class PinnedArena {
 public:
  explicit PinnedArena(std::size_t floats) : floats_(floats) {
    void* memory = nullptr;
    must(cudaMallocHost(&memory, floats * sizeof(float)));
    memory_ = static_cast<float*>(memory);
  }
  ~PinnedArena() { cudaFreeHost(memory_); }
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  std::span<float> take(std::size_t floats) {
    HOCKET_CHECK(used_ + floats <= floats_, "the arena is too small for this test");
    used_ += floats;
    return {memory_ + used_ - floats, floats};
  }

 private:
  const std::size_t floats_;
  std::size_t used_ = 0;
  float* memory_ = nullptr;
};

void stage(std::span<float> to, std::span<const float> from, DeviceStream stream) {
  must(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), cudaMemcpyDefault,
                       cuda_stream(stream)));
}

/// Sums over one rank slowly: values are copied from the device and back.
class SlowSoleRank final : public SoleRankCollective {
 public:
  explicit SlowSoleRank(PinnedArena& arena) : arena_(arena) {}

  Result<void> exchange(CollectiveKind, std::span<const DevicePiece> pieces, int,
                        DeviceStream stream) override {
    for (const auto& [values, owner] : pieces) {
      const std::span<float> staged = arena_.take(values.size());
      stage(staged, values.as<float>(), stream);
      stage(values.as<float>(), staged, stream);
    }
    return {};
  }

 private:
  PinnedArena& arena_;
};

/// A random program with its data on a device. A single thread launches.
class ProgramOnDevice {
 public:
  ProgramOnDevice(const RandomProgram& program, PinnedArena& arena)
      : program_(program), arena_(arena) {
    for (const std::vector<float>& values : program.start(0))
      buffers_.emplace_back(values.data(), values.size() * sizeof(float));
  }

  std::span<float> values_of(DataId data) const {
    return {static_cast<float*>(buffers_[data.index].data()), RandomProgram::kValues};
  }

  void launch(std::size_t task) {
    const DeviceStream stream = this_device_task().stream;
    const auto operands = program_.operands(task, [&](DataId data) { return values_of(data); });
    auto& call = *calls_.emplace_back(std::make_unique<Call>(Call{program_, task, {}}));
    const std::span<const Access> accesses = program_.accesses(task);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      call.operands.push_back(arena_.take(operands[i].size()));
      if (accesses[i].mode != AccessMode::write) stage(call.operands[i], operands[i], stream);
    }
    must(cudaLaunchHostFunc(
        cuda_stream(stream),
        [](void* argument) {
          const auto& c = *static_cast<const Call*>(argument);
          c.program.compute(c.task, c.operands);
        },
        &call));
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (accesses[i].mode != AccessMode::read) stage(operands[i], call.operands[i], stream);
  }

  /// Returns the values that persist after a step, once everything has run.
  RandomProgram::Values values() const {
    RandomProgram::Values all = program_.start(0);
    for (std::size_t data = 0; data < program_.lasting(); ++data)
      buffers_[data].get(all[data].data());
    return all;
  }

 private:
  struct Call {
    const RandomProgram& program;
    std::size_t task;
    RandomProgram::Operands operands;
  };

  const RandomProgram& program_;
  PinnedArena& arena_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::unique_ptr<Call>> calls_;
};

using CudaExecutorTest = OnDevice;

TEST_F(CudaExecutorTest, RunsRandomProgramsAsIfOneTaskAfterAnother) {
  constexpr int kSteps = 4;
  const SteadyClock clock;
  for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const RandomProgram program(seed);
    PinnedArena arena(program.size() * 3 * kSteps * RandomProgram::kValues);
    ProgramOnDevice on_device(program, arena);
    SlowSoleRank collective(arena);
    DeviceMemory memory(driver());
    LocalGroup group(1);
    const auto messages = group.join(0);
    DeviceGroups groups(collective, {});
    DeviceExecutor executor(driver(), groups, memory, *messages, clock);
    ScheduleConfig config;
    config.partition_bytes = config.credit_bytes = 4096;
    config.credit_bytes <<= random() % 3;
    config.streams = 1 + static_cast<int>(random() % 4);
    config.comm_channels = 1 + static_cast<int>(random() % 3);
    config.order = random() % 2 == 0 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
    const bool captures = random() % 2 == 0;
    {
      Scheduler scheduler(config, executor);
      program.add_data(scheduler, memory);
      const auto submit = [&] {
        program.submit(
            scheduler, [&](DataId data) { return on_device.values_of(data); },
            [&on_device](std::size_t task) { on_device.launch(task); });
      };
      std::shared_ptr<Scheduler::Capture> captured;
      if (captures) {
        scheduler.begin_capture();
        submit();
        captured = scheduler.end_capture();
      }
      for (int step = 0; step < kSteps; ++step) {
        if (!captures) submit();
        const auto ended = captures ? scheduler.launch(captured) : scheduler.end_step();
        ASSERT_TRUE(ended) << ended.error().message;
      }
      const auto ended = scheduler.synchronize();
      ASSERT_TRUE(ended) << ended.error().message;
    }
    EXPECT_EQ(on_device.values(), program.expected(kSteps, 1).front());
  }
}

TEST_F(CudaExecutorTest, TracesWhenTheDeviceRanWhat) {
  class Sink final : public TraceSink {
   public:
    void record(const TraceEvent& event) override { events.push_back(event); }
    std::vector<TraceEvent> events;
  } sink;
  const SteadyClock clock;
  const RandomProgram program(2);
  PinnedArena arena(program.size() * 3 * RandomProgram::kValues);
  ProgramOnDevice on_device(program, arena);
  SlowSoleRank collective(arena);
  DeviceMemory memory(driver());
  LocalGroup group(1);
  const auto messages = group.join(0);
  DeviceGroups groups(collective, {});
  DeviceExecutor executor(driver(), groups, memory, *messages, clock);
  const std::int64_t begin_ns = clock.now_ns();
  {
    Scheduler scheduler({}, executor, {.trace = &sink, .observer = nullptr, .static_order = {}});
    program.add_data(scheduler, memory);
    program.submit(
        scheduler, [&](DataId data) { return on_device.values_of(data); },
        [&on_device](std::size_t task) { on_device.launch(task); });
    ASSERT_TRUE(scheduler.end_step());
    ASSERT_TRUE(scheduler.synchronize());
  }
  const std::int64_t end_ns = clock.now_ns();
  EXPECT_GE(sink.events.size(), program.size());
  for (const TraceEvent& event : sink.events) {
    EXPECT_LE(event.begin_ns, event.end_ns);
    EXPECT_GE(event.begin_ns, begin_ns);
    // The device's clock is set from the host's, with the accuracy at which the host sees an event.
    EXPECT_LE(event.end_ns, end_ns + 10'000'000);
  }
}

}  // namespace
}  // namespace hocket
