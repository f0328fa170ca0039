// Placed steps on a device: copies and the host's tasks in streams of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>

#include "core/cuda/executor/placed_memory.h"
#include "core/placement/described_placement.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/cuda/model_rank.h"
#include "tests/core/placement/placed_model.h"
#include "tests/core/placement/placed_program.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// A job of one rank on a simulated device, whose items hold their value at their beginning.
class PlacedDeviceJob {
 public:
  PlacedDeviceJob(const StepToPlace& step, const ScheduleConfig& config, std::int64_t limit_bytes,
                  std::uint64_t seed, TraceSink* trace = nullptr)
      : step_(step), sole_(clock_, seed), offload_k_(config.offload_k) {
    EXPECT_TRUE(device().use_device());
    memory_ = PlacedMemory::open(device(), limit_bytes).value();
    scheduler_.emplace(config, sole_.rank.executor,
                       SchedulerOptions{.trace = trace, .memory = memory_.get()});
    const Memory values = initial(step);
    for (std::uint32_t item = 0; item < step.data.size(); ++item) {
      const std::int64_t bytes = step.data[item].bytes;
      const DataId data = scheduler_->add_data({.bytes = bytes, .layer = step.data[item].layer},
                                               step.data[item].name);
      const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, sizeof(Value)));
      host_.push_back(device().allocate_host(size).value());
      std::memcpy(host_.back(), &values[item], sizeof(Value));
      if (bytes > 0) memory_->add(data, {.bytes = bytes, .host = host_.back()});
    }
    for (const TaskToPlace& task : step.tasks) {
      places_.push_back({.updates_layer = task.updates_layer});
      counts_.push_back(scheduler_->add_data());
    }
    rounds_.resize(step.tasks.size());
  }

  ModelDevice& device() { return sole_.rank.device; }
  Scheduler& scheduler() { return *scheduler_; }

  Result<void> run(int steps, bool captures = false) {
    if (captures) {
      scheduler_->begin_capture();
      submit();
      const auto captured = scheduler_->end_capture();
      for (int i = 0; i < steps; ++i)
        if (auto ok = scheduler_->launch(captured); !ok) return ok;
      return scheduler_->synchronize();
    }
    for (int i = 0; i < steps; ++i) {
      submit();
      if (auto ok = scheduler_->end_step(); !ok) return ok;
    }
    return scheduler_->synchronize();
  }

  Result<void> reconfigure(const ScheduleConfig& config) {
    auto ok = scheduler_->reconfigure(config);
    if (ok) offload_k_ = config.offload_k;
    return ok;
  }

  Value value(std::uint32_t item) {
    const bool on_device = step_.data[item].bytes > 0 &&
                           memory_->home({item}) == PlacementSite::device &&
                           memory_->at({item}) != nullptr;
    Value value = 0;
    std::memcpy(&value, on_device ? memory_->at({item}) : host_[item], sizeof value);
    return value;
  }

  /// The task of this number throws.
  int throws_at = -1;

 private:
  struct Sole {
    Sole(const Clock& clock, std::uint64_t seed)
        : messages(1, 60'000'000'000), rank(group, messages, 0, seed, clock) {}
    ModelGroup group{1};
    LocalGroup messages;
    ModelRank rank;
  };

  void submit() {
    for (std::uint32_t task = 0; task < step_.tasks.size(); ++task) {
      std::vector<Access> accesses = step_.tasks[task].accesses;
      accesses.push_back(update(counts_[task]));
      scheduler_->compute(
          {.name = step_.tasks[task].name, .priority = task % 5, .place = &places_[task]}, accesses,
          [this, task] { perform(task); });
    }
  }

  void perform(std::uint32_t task) {
    if (static_cast<int>(task) == throws_at) throw std::runtime_error("injected failure");
    const bool on_host = step_.tasks[task].updates_layer >= offload_k_;
    std::vector<void*> places;
    std::vector<Region> regions;
    for (const Access& access : step_.tasks[task].accesses) {
      const std::uint32_t item = access.data.index;
      const std::int64_t bytes = step_.data[item].bytes;
      places.push_back(on_host || bytes == 0 ? host_[item] : memory_->at({item}));
      if (bytes > 0)
        regions.push_back(
            {places.back(), static_cast<std::size_t>(bytes), access.mode != AccessMode::read});
    }
    const auto compute = [this, task, places, round = rounds_[task]++] {
      const auto place_of = [&](std::uint32_t item) {
        const auto& accesses = step_.tasks[task].accesses;
        for (std::size_t i = 0; i < accesses.size(); ++i)
          if (accesses[i].data.index == item) return places[i];
        return static_cast<void*>(nullptr);
      };
      hocket::perform(
          step_, task, round,
          [&](std::uint32_t item) {
            Value value = 0;
            std::memcpy(&value, place_of(item), sizeof value);
            return value;
          },
          [&](std::uint32_t item, Value value) {
            std::memcpy(place_of(item), &value, sizeof value);
          });
    };
    if (!on_host) return device().launch(this_device_task().stream, regions, compute);
    for (const Region& region : regions) ModelDevice::touch(region);
    compute();
  }

  const StepToPlace& step_;
  SteadyClock clock_;
  Sole sole_;
  std::unique_ptr<PlacedMemory> memory_;
  std::int64_t offload_k_;
  std::vector<void*> host_;
  std::deque<TaskPlace> places_;
  std::vector<DataId> counts_;
  std::vector<int> rounds_;
  std::optional<Scheduler> scheduler_;
};

ScheduleConfig random_offload(std::mt19937_64& random) {
  ScheduleConfig config;
  config.streams = static_cast<int>(1 + random() % 3);
  config.offload_k = static_cast<std::int64_t>(random() % 6);
  config.prefetch_layers = static_cast<std::int64_t>(random() % 4);
  config.step_issue = static_cast<StepIssue>(random() % 2);
  return config;
}

TEST(PlacedDevice, RandomStepsComputeTheSameWithoutRaces) {
  int placed = 0;
  for (std::uint64_t seed = 0; seed < rounds(160); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepToPlace step = random() % 2 == 0
                                 ? random_step(random)
                                 : step_of({.layers = static_cast<int>(1 + random() % 5),
                                            .micro_batches = static_cast<int>(1 + random() % 2)});
    const ScheduleConfig config = random_offload(random), other = random_offload(random);
    const auto limit_bytes = static_cast<std::int64_t>(256 * (4 + random() % 80));
    PlacedDeviceJob job(step, config, limit_bytes, seed);
    const auto ran = job.run(3, random() % 2 == 0);
    if (!ran) {
      EXPECT_EQ(ran.error().code, ErrorCode::invalid_argument) << ran.error().message;
      continue;
    }
    ++placed;
    static_cast<void>(job.reconfigure(other));
    const auto again = job.run(2);
    ASSERT_TRUE(again) << again.error().message;
    const Memory expected = run_in_order(step, 5);
    for (std::uint32_t item = 0; item < step.data.size(); ++item) {
      if (outlives(step, item)) {
        EXPECT_EQ(job.value(item), expected[item]) << step.data[item].name;
      }
    }
    EXPECT_THAT(job.device().problems(), IsEmpty());
    EXPECT_EQ(job.device().idle_waits(), 0);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(placed, static_cast<int>(rounds(60)));
}

TEST(PlacedDevice, EachForgottenWaitIsARace) {
  // Copies may run ahead without limit, so that each wait protects memory.
  const StepToPlace step = step_of({.layers = 4});
  const ScheduleConfig config{.streams = 2, .offload_k = 1, .prefetch_layers = 64};
  std::int64_t wait = 0;
  for (;; ++wait) {
    PlacedDeviceJob job(step, config, 24 * 1024, 3);
    ASSERT_TRUE(job.run(1));
    const std::int64_t launched = job.device().launched();
    ASSERT_TRUE(job.run(1));
    // A task that is issued while nothing runs waits for everything that it depends on.
    const std::int64_t of_a_step = job.device().launched() - launched;
    const std::int64_t first = job.device().waits();
    job.device().forget_wait(first + wait);
    job.device().hold();
    std::jthread releases([&] {
      while (job.device().launched() < launched + 2 * of_a_step) std::this_thread::yield();
      job.device().release();
    });
    ASSERT_TRUE(job.run(1));
    if (job.device().waits() <= first + wait) break;
    EXPECT_GT(job.device().problems().size(), 0u) << "wait " << wait;
  }
  EXPECT_GT(wait, 5);
}

TEST(PlacedDevice, WhatThrowsOnEitherSideEndsTheStepAndIsNamed) {
  const StepToPlace step = step_of({.layers = 3});
  for (int at = 0; at < static_cast<int>(step.tasks.size()); ++at) {
    PlacedDeviceJob job(step, {.offload_k = 1}, 32'768, 5);
    job.throws_at = at;
    const auto failed = job.run(2);
    ASSERT_FALSE(failed) << at;
    EXPECT_THAT(failed.error().message,
                HasSubstr("task \"" + step.tasks[static_cast<std::size_t>(at)].name + "\""));
    EXPECT_THAT(failed.error().message, HasSubstr("injected failure"));
  }
}

TEST(PlacedDevice, AFailureOfAnyCallOfTheDeviceEndsTheStep) {
  const StepToPlace step = step_of({.layers = 2});
  int failures = 0;
  for (std::int64_t call = 1;; call += 3) {
    PlacedDeviceJob job(step, {.offload_k = 1}, 32'768, 5);
    job.device().fail_at(call);
    if (job.run(2)) break;
    ++failures;
  }
  EXPECT_GT(failures, 20);
}

TEST(PlacedDevice, ATraceHasTheLanes) {
  class LaneCounts final : public TraceSink {
   public:
    void record(const TraceEvent& event) override {
      ++count[event.kind == TraceKind::copy][event.lane];
    }
    std::map<int, int> count[2];
  } traced;
  const StepToPlace step = step_of({.layers = 2});
  {
    PlacedDeviceJob job(step, {.streams = 1, .offload_k = 1}, 32'768, 5, &traced);
    ASSERT_TRUE(job.run(2));
  }
  EXPECT_EQ(traced.count[0][1], 2) << "one update of the host in each step";
  EXPECT_EQ(traced.count[1].size(), 2u);
}

TEST(PlacedMemory, SaysThatTheDeviceHasNotSoMuchMemory) {
  ModelDevice device;
  device.fail_at(3);
  const auto refused = PlacedMemory::open(device, 1 << 20);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("allocating 1048576 B of the device"));
}

}  // namespace
}  // namespace hocket
