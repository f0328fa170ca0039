// Schedulers that place steps on a device with limited memory and its host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <random>
#include <string>

#include "core/placement/described_placement.h"
#include "core/sim/tape_replay.h"
#include "core/tape/tape.h"
#include "tests/core/host/ranks.h"
#include "tests/core/placement/memory_model.h"
#include "tests/core/placement/placed_model.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// A job of one rank that runs a step again and again.
class PlacedJob {
 public:
  PlacedJob(const StepToPlace& step, const ScheduleConfig& config, std::int64_t memory_bytes,
            PlanObserver* observer = nullptr, TraceSink* trace = nullptr)
      : step_(step),
        group_(1),
        collective_(group_.join(0)),
        executor_(*collective_, clock_),
        memory(step, memory_bytes),
        offload_k_(config.offload_k),
        scheduler(config, executor_, {.trace = trace, .observer = observer, .memory = &memory}) {
    for (const DataToPlace& item : step.data)
      data_.push_back(scheduler.add_data({.bytes = item.bytes, .layer = item.layer}, item.name));
    for (const TaskToPlace& task : step.tasks)
      places_.push_back({.updates_layer = task.updates_layer});
  }

  Result<void> run(int steps) {
    for (int i = 0; i < steps; ++i) {
      submit();
      if (auto ok = scheduler.end_step(); !ok) return ok;
    }
    return scheduler.synchronize();
  }

  /// Runs a step of the first `tasks` tasks alone.
  Result<void> run_first(std::size_t tasks) {
    submit(tasks);
    return scheduler.end_step();
  }

  Result<void> run_captured(int steps) {
    scheduler.begin_capture();
    submit();
    const auto captured = scheduler.end_capture();
    for (int i = 0; i < steps; ++i)
      if (auto ok = scheduler.launch(captured); !ok) return ok;
    return scheduler.synchronize();
  }

  Result<void> reconfigure(const ScheduleConfig& config) {
    auto ok = scheduler.reconfigure(config);
    if (ok) offload_k_ = config.offload_k;
    return ok;
  }

  /// The body of the task of this number throws.
  int throws_at = -1;

 private:
  // Tasks of a round count the rounds themselves, since captured ones have the same bodies.
  void submit() { submit(step_.tasks.size()); }
  void submit(std::size_t tasks) {
    rounds_of_task_.resize(step_.tasks.size());
    for (std::uint32_t task = 0; task < tasks; ++task) {
      std::vector<Access> accesses;
      for (const Access& access : step_.tasks[task].accesses)
        accesses.push_back({data_[access.data.index], access.mode});
      // Orders a task and its count from step to step.
      if (task >= counts_.size()) counts_.push_back(scheduler.add_data());
      accesses.push_back(update(counts_[task]));
      scheduler.compute(
          {.name = step_.tasks[task].name, .priority = task % 7, .place = &places_[task]}, accesses,
          [this, task] { perform(task); });
    }
  }

  void perform(std::uint32_t task) {
    if (static_cast<int>(task) == throws_at) throw std::runtime_error("injected failure");
    const bool on_host = step_.tasks[task].updates_layer >= offload_k_;
    memory.perform(task, rounds_of_task_[task]++,
                   on_host ? PlacementSite::host : PlacementSite::device);
  }

  const StepToPlace& step_;
  SteadyClock clock_;
  LocalGroup group_;
  std::unique_ptr<Collective> collective_;
  HostExecutor executor_;
  std::vector<DataId> data_, counts_;
  std::deque<TaskPlace> places_;
  std::vector<int> rounds_of_task_;

 public:
  MemoryModel memory;

 private:
  std::int64_t offload_k_;

 public:
  Scheduler scheduler;
};

StepDescription description_of(const StepToPlace& step, std::int64_t memory_bytes) {
  StepDescription description;
  for (const DataToPlace& item : step.data) {
    description.data.push_back(item.name);
    description.data_places.push_back({.bytes = item.bytes, .layer = item.layer});
  }
  for (const TaskToPlace& task : step.tasks) {
    StepTask& described = description.tasks.emplace_back();
    described.name = task.name;
    described.accesses = task.accesses;
    described.place.updates_layer = task.updates_layer;
  }
  description.device_memory_bytes = memory_bytes;
  return description;
}

void expect_values(const StepToPlace& step, const MemoryModel& memory, int rounds_run) {
  const Memory expected = run_in_order(step, rounds_run);
  for (std::uint32_t item = 0; item < step.data.size(); ++item) {
    if (outlives(step, item)) {
      EXPECT_EQ(memory.value(item), expected[item]) << step.data[item].name;
    }
  }
}

ScheduleConfig random_placing(std::mt19937_64& random) {
  ScheduleConfig config;
  config.streams = static_cast<int>(1 + random() % 3);
  config.offload_k = static_cast<std::int64_t>(random() % 5);
  config.prefetch_layers = static_cast<std::int64_t>(random() % 4);
  return config;
}

/// Keeps what a scheduler says of placed steps.
class PlacedWitness final : public TraceSink {
 public:
  void record(const TraceEvent&) override {}
  void placed(const StepDescription& step) override { steps.push_back(step); }
  std::vector<StepDescription> steps;
};

TEST(PlacedSteps, ATraceHearsWhatIsPlacedWheneverItIsPlaced) {
  const StepToPlace step = step_of({.layers = 2});
  PlacedWitness witness;
  PlacedJob job(step, {.offload_k = 1}, 1 << 20, nullptr, &witness);
  ASSERT_TRUE(job.run(3));
  ASSERT_EQ(witness.steps.size(), 1u) << "steps that are alike are placed once";
  const StepDescription& placed = witness.steps[0];
  EXPECT_EQ(placed.device_memory_bytes, 1 << 20);
  ASSERT_EQ(placed.tasks.size(), step.tasks.size());
  for (std::size_t task = 0; task < step.tasks.size(); ++task) {
    EXPECT_EQ(placed.tasks[task].name, step.tasks[task].name);
    EXPECT_EQ(placed.tasks[task].place.updates_layer, step.tasks[task].updates_layer);
    // The job counts rounds in one more item.
    EXPECT_EQ(placed.tasks[task].accesses.size(), step.tasks[task].accesses.size() + 1);
  }
  EXPECT_EQ(placed.data[1], step.data[1].name);
  EXPECT_EQ(placed.data_places[1].bytes, step.data[1].bytes);
  ASSERT_TRUE(job.reconfigure({.offload_k = 2}));
  ASSERT_TRUE(job.run(2));
  EXPECT_EQ(witness.steps.size(), 2u);
}

TEST(PlacedSteps, ComputeTheSameWithEveryConfiguration) {
  int placed = 0;
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepToPlace step = random_step(random);
    const ScheduleConfig config = random_placing(random), other = random_placing(random);
    const auto memory_bytes = static_cast<std::int64_t>(256 * (4 + random() % 30));
    if (!place_description(description_of(step, memory_bytes), config)) continue;
    ++placed;
    PlacedJob job(step, config, memory_bytes);
    ASSERT_TRUE(random() % 2 == 0 ? job.run(3) : job.run_captured(3));
    const bool fits = place_description(description_of(step, memory_bytes), other).has_value();
    EXPECT_EQ(job.reconfigure(other).has_value(), fits);
    ASSERT_TRUE(job.run(2));
    expect_values(step, job.memory, 5);
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, static_cast<int>(rounds(100)));
}

TEST(PlacedSteps, StepsThatDifferArePlacedAnew) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepToPlace step = step_of({.layers = static_cast<int>(2 + random() % 3)});
    PlacedJob job(step, {.offload_k = static_cast<std::int64_t>(random() % 4)}, 1 << 20);
    Memory expected = initial(step);
    std::vector<int> rounds_of(step.tasks.size());
    for (int i = 0; i < 6; ++i) {
      const std::size_t tasks =
          random() % 2 == 0 ? step.tasks.size() : random() % step.tasks.size();
      ASSERT_TRUE(job.run_first(tasks));
      for (std::uint32_t task = 0; task < tasks; ++task) {
        perform(
            step, task, rounds_of[task]++, [&](std::uint32_t item) { return expected[item]; },
            [&](std::uint32_t item, Value value) { expected[item] = value; });
      }
    }
    ASSERT_TRUE(job.scheduler.synchronize());
    for (std::uint32_t item = 0; item < step.data.size(); ++item) {
      if (step.data[item].layer != kNoLayer) {
        EXPECT_EQ(job.memory.value(item), expected[item]) << step.data[item].name;
      }
    }
    if (HasFailure()) return;
  }
}

TEST(PlacedSteps, AStepThatDoesNotFitIsRefusedBeforeItRuns) {
  const StepToPlace step = step_of({.layers = 3, .parameter_bytes = 5000});
  PlacedJob job(step, {}, 8192);
  const auto refused = job.run(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("B on the device at once"));
  EXPECT_EQ(job.run(1).error(), refused.error()) << "the scheduler has failed";
  expect_values(step, job.memory, 0);
}

TEST(PlacedSteps, AConfigurationThatDoesNotFitChangesNothing) {
  const StepToPlace step = step_of({.layers = 8, .state_bytes = 8192});
  PlacedJob job(step, {.offload_k = 1}, 24'576);
  ASSERT_TRUE(job.run(2));
  const auto refused = job.reconfigure({.offload_k = 8});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("device_memory_bytes"));
  EXPECT_THAT(job.reconfigure({.bucket_bytes = 1 << 20}).error().message, HasSubstr("partition"));
  ASSERT_TRUE(job.run(2));
  expect_values(step, job.memory, 4);
}

TEST(PlacedSteps, ACopyThatThrowsEndsTheStepAndIsNamed) {
  const StepToPlace step = step_of({.layers = 4});
  int copies = 0;
  {
    PlacedJob job(step, {.offload_k = 1}, 16'384);
    ASSERT_TRUE(job.run(2));
    copies = job.memory.copies();
  }
  ASSERT_GT(copies, 10);
  for (int at = 0; at < copies; ++at) {
    PlacedJob job(step, {.offload_k = 1}, 16'384);
    job.memory.fails_at = at;
    const auto failed = job.run(2);
    ASSERT_FALSE(failed) << at;
    EXPECT_THAT(failed.error().message,
                testing::MatchesRegex(".*\"(fetch|evict) layer.*injected.*"));
  }
}

TEST(PlacedSteps, ATaskThatThrowsOnEitherSideEndsTheStepAndIsNamed) {
  const StepToPlace step = step_of({.layers = 4});
  for (int at = 0; at < static_cast<int>(step.tasks.size()); ++at) {
    PlacedJob job(step, {.offload_k = 2}, 32'768);
    job.throws_at = at;
    const auto failed = job.run(2);
    ASSERT_FALSE(failed) << at;
    EXPECT_THAT(failed.error().message,
                HasSubstr("task \"" + step.tasks[static_cast<std::size_t>(at)].name + "\" threw"));
  }
}

TEST(PlacedSteps, TheHostUpdatesBesideTheDevice) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  StepToPlace nothing;
  MemoryModel memory(nothing, 1024);
  Scheduler scheduler({.offload_k = 0}, executor, {.memory = &memory});
  const TaskPlace update_place{.updates_layer = 0};
  // Each waits for the other to begin.
  std::promise<void> updates, computes;
  scheduler.compute({.name = "update", .place = &update_place}, {}, [&] {
    updates.set_value();
    computes.get_future().wait();
  });
  scheduler.compute({.name = "backward"}, {}, [&] {
    computes.set_value();
    updates.get_future().wait();
  });
  ASSERT_TRUE(scheduler.end_step());
  EXPECT_TRUE(scheduler.synchronize());
}

TEST(PlacedSteps, ATapeRecordsLanesAndIsReplayed) {
  const StepToPlace step = step_of({.layers = 4, .micro_batches = 2});
  const SteadyClock clock;
  std::string bytes;
  {
    TapeWriter tape({.plan = plan_options({}, false, 0), .virtual_time = false, .name = {}}, clock,
                    [&](std::string_view more) { bytes += more; });
    PlacedJob job(step, {.streams = 2, .offload_k = 1}, 16'384, &tape);
    ASSERT_TRUE(job.run(3));
  }
  auto reader = TapeReader::open(bytes).value();
  std::map<TaskLane, int> lanes;
  for (auto record = reader.next(); *record; record = reader.next())
    for (const TapeTask& task : (*record)->tasks) ++lanes[task.lane];
  EXPECT_EQ(lanes.size(), kTaskLanes);
  auto again = TapeReader::open(bytes).value();
  const auto replayed = replay_tape(again);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_FALSE(replayed->difference)
      << replayed->difference->on_tape << " but " << replayed->difference->decided;
  EXPECT_GT(replayed->started, 3 * step.tasks.size());
}

/// Keeps the names and lanes of what ran.
class TracedLanes final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    std::lock_guard lock(mutex_);
    if (event.kind == TraceKind::copy) {
      EXPECT_GT(event.bytes, 0);
      ++copies[event.lane];
    } else {
      ++computes[event.lane];
    }
  }
  std::map<int, int> copies, computes;

 private:
  std::mutex mutex_;
};

TEST(PlacedSteps, ATraceHasCopiesAndUpdatesInLanesOfTheirOwn) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  const StepToPlace step = step_of({.layers = 1});
  MemoryModel memory(step, 16'384);
  TracedLanes traced;
  {
    Scheduler scheduler({.streams = 2, .offload_k = 0}, executor,
                        {.trace = &traced, .memory = &memory});
    for (const DataToPlace& item : step.data)
      scheduler.add_data({.bytes = item.bytes, .layer = item.layer}, item.name);
    const TaskPlace update_place{.updates_layer = 0};
    for (const TaskToPlace& task : step.tasks)
      scheduler.compute(
          {.name = task.name, .place = task.updates_layer == 0 ? &update_place : nullptr},
          task.accesses, [] {});
    ASSERT_TRUE(scheduler.end_step());
  }
  EXPECT_EQ(traced.computes[2], 1) << "the host's lane follows the streams";
  EXPECT_EQ(traced.computes[0] + traced.computes[1], static_cast<int>(step.tasks.size()) - 1);
  EXPECT_EQ(traced.copies, (std::map<int, int>{{0, 1}, {1, 1}}));
}

}  // namespace
}  // namespace hocket
