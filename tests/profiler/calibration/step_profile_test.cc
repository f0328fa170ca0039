#include "profiler/calibration/step_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <set>

#include "core/placement/described_placement.h"
#include "core/sim/simulator.h"
#include "tests/core/sim/random_placed_steps.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// Returns a random step of several layers of different sizes, chained by an activation.
StepDescription random_step(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  StepDescription step;
  step.layers.resize(2 + random() % 10);
  for (std::size_t i = 0; i < step.layers.size(); ++i) {
    step.layers[i] = {"layer", (1 + below(2000)) * 640, 10'000 + below(2'000'000),
                      10'000 + below(3'000'000)};
  }
  step.collective = {static_cast<double>(below(100'000)), static_cast<double>(1 + below(4)), 0};
  return step;
}

/// Simulates `step` and returns its profiled steps.
std::vector<ProfiledStep> simulated_steps(const StepDescription& step, std::int64_t iterations,
                                          std::int64_t partition_bytes = 1 << 18) {
  StepProfile profile;
  SimulationOptions options;
  options.config.partition_bytes = partition_bytes;
  options.config.order = CollectiveOrder::negotiated;
  options.iterations = iterations;
  options.trace = &profile;
  options.observer = &profile;
  EXPECT_TRUE(simulate(step, options));
  return profile.steps(1);
}

/// Returns the step with nothing beside communication: every task updates one additional item.
StepDescription serial(const StepDescription& description) {
  StepDescription step = expand(description);
  step.layers.clear();
  step.data.push_back("serial");
  const DataId last{static_cast<std::uint32_t>(step.data.size() - 1)};
  for (StepTask& task : step.tasks) task.accesses.push_back(update(last));
  return step;
}

/// Returns profiled tasks without that item, as a job that runs them serially submits them.
std::vector<ProfiledStep> serial_steps(const StepDescription& description) {
  const auto serial_data = static_cast<std::size_t>(expand(description).data.size());
  auto steps = simulated_steps(serial(description), 4);
  const auto overlapped = simulated_steps(description, 4);
  for (ProfiledStep& step : steps) {
    for (std::size_t i = 0; i < step.tasks.size(); ++i)
      step.tasks[i].accesses = overlapped.front().tasks[i].accesses;
  }
  EXPECT_GT(serial_data, 0u);
  return steps;
}

std::int64_t iteration_ns(const StepDescription& step, const ScheduleConfig& config) {
  return simulate(step, {.config = config}).value().iteration_ns;
}

TEST(StepProfile, WhatItDescribesTakesAsLongAsWhatWasProfiled) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const StepDescription step = random_step(seed);
    const auto described = describe_step(simulated_steps(step, 6));
    ASSERT_TRUE(described) << described.error().message;
    ASSERT_EQ(described->tasks.size(), expand(step).tasks.size());
    std::mt19937_64 random(seed);
    for (const CollectiveOrder order :
         {CollectiveOrder::fifo, CollectiveOrder::static_order, CollectiveOrder::negotiated}) {
      ScheduleConfig config;
      config.partition_bytes = std::int64_t{1} << (14 + random() % 8);
      config.credit_bytes = config.partition_bytes << random() % 3;
      config.comm_channels = 1 + static_cast<int>(random() % 2);
      config.order = order;
      const auto expected = static_cast<double>(iteration_ns(step, config));
      EXPECT_NEAR(static_cast<double>(iteration_ns(*described, config)), expected, 1e-4 * expected);
    }
  }
}

TEST(StepProfile, FindsWhatAPartCosts) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const StepDescription step = random_step(seed);
    const auto described = describe_step(simulated_steps(step, 4)).value();
    EXPECT_NEAR(described.collective.alpha_ns, step.collective.alpha_ns, 10);
    EXPECT_NEAR(described.collective.beta_ns_per_byte, step.collective.beta_ns_per_byte, 1e-3);
    EXPECT_EQ(described.collective.latency_ns, 0);
  }
}

TEST(StepProfile, HalvesOfAnAllReduceTellWhatItCosts) {
  StepDescription step = random_step(7);
  step.collective = {60'000, 2, 0};
  for (const StepLayer& layer : step.layers) ASSERT_GT(layer.parameter_bytes, 0);
  StepDescription scattered = expand(step);
  std::vector<StepTask> tasks;
  for (const StepTask& task : scattered.tasks) {
    tasks.push_back(task);
    if (!task.collective) continue;
    tasks.back().collective = CollectiveKind::reduce_scatter;
    tasks.push_back(task);
    tasks.back().name = "gather " + task.name;
    tasks.back().collective = CollectiveKind::all_gather;
  }
  scattered.tasks = tasks;
  const auto fitted = describe_step(simulated_steps(scattered, 6));
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_NEAR(fitted->collective.alpha_ns, 60'000, 600);
  EXPECT_NEAR(fitted->collective.beta_ns_per_byte, 2, 0.02);
  std::int64_t gathers = 0;
  for (const StepTask& task : fitted->tasks)
    gathers += task.collective == CollectiveKind::all_gather;
  EXPECT_EQ(gathers, static_cast<std::int64_t>(step.layers.size()));
}

TEST(StepProfile, FindsTheSlowdownWhenSomeStepsAreSerial) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    StepDescription step = random_step(seed);
    step.compute_slowdown = static_cast<double>(seed % 10) / 10;
    auto steps = serial_steps(step);
    const auto overlapped = simulated_steps(step, 4);
    steps.insert(steps.end(), overlapped.begin(), overlapped.end());
    const auto described = describe_step(steps);
    ASSERT_TRUE(described) << described.error().message;
    EXPECT_NEAR(described->compute_slowdown, step.compute_slowdown, 1e-3);
    for (std::size_t i = 0; i < described->tasks.size(); ++i)
      EXPECT_EQ(described->tasks[i].duration_ns, expand(step).tasks[i].duration_ns);
  }
}

/// Returns a hand-written step, two compute tasks and a collective, `scale` times slower.
ProfiledStep handmade(double scale = 1) {
  const auto ns = [scale](double value) { return static_cast<std::int64_t>(scale * value); };
  ProfiledStep step;
  step.tasks = {{"a", 1, {write({0})}, false, 0, ns(1000), 0},
                {"g", 0, {update({0})}, true, 4096, 0, 0},
                {"a", 2, {read({0}), write({1})}, false, 0, ns(3000), 0}};
  step.parts = {{4096, ns(8192)}};
  return step;
}

TEST(StepProfile, OneWildStepChangesNothing) {
  std::vector<ProfiledStep> steps(5, handmade());
  const auto expected = describe_step(steps).value();
  steps.push_back(handmade(50));
  EXPECT_TRUE(describe_step(steps).value() == expected);
}

TEST(StepProfile, OneSizeOfPartsCostsByTheByte) {
  const auto described = describe_step(std::vector{handmade()}).value();
  EXPECT_EQ(described.collective.alpha_ns, 0);
  EXPECT_EQ(described.collective.beta_ns_per_byte, 2);
}

TEST(StepProfile, CostsAreNeverNegative) {
  ProfiledStep faster_when_larger = handmade(), less_than_nothing = handmade();
  faster_when_larger.parts = {{1000, 500}, {2000, 300}};
  less_than_nothing.parts = {{1000, 100}, {2000, 900}};
  for (const ProfiledStep& step : {faster_when_larger, less_than_nothing}) {
    const auto described = describe_step(std::vector{step}).value();
    EXPECT_GE(described.collective.alpha_ns, 0);
    EXPECT_GE(described.collective.beta_ns_per_byte, 0);
    EXPECT_GT(described.collective.alpha_ns + described.collective.beta_ns_per_byte, 0);
  }
}

TEST(StepProfile, NamesAreMadeUnique) {
  ProfiledStep step = handmade();
  step.tasks[1].name = "a #2";
  const auto described = describe_step(std::vector{step}).value();
  std::set<std::string> names;
  for (const StepTask& task : described.tasks) names.insert(task.name);
  EXPECT_EQ(names.size(), step.tasks.size());
  EXPECT_TRUE(parse_step_description(to_json(described).dump()).value() == described);
}

TEST(StepProfile, StepsThatDifferAreRefusedByTask) {
  ProfiledStep renamed = handmade(), longer = handmade(), other_access = handmade();
  renamed.tasks[2].name = "b";
  longer.tasks.push_back(longer.tasks.front());
  other_access.tasks[0].accesses = {update({0})};
  for (const auto& [other, message] :
       {std::pair(renamed, "task 2 of a step is \"a\" in one and \"b\" in another"),
        std::pair(longer, "one step has 3 tasks, another 4"),
        std::pair(other_access, "task 0 of a step")}) {
    const auto described = describe_step(std::vector{handmade(), other});
    ASSERT_FALSE(described);
    EXPECT_EQ(described.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(described.error().message, HasSubstr(message));
  }
}

TEST(StepProfile, StepsThatHaveNotEndedAreLeftOut) {
  StepProfile profile;
  EXPECT_TRUE(profile.steps(0).empty());
  EXPECT_FALSE(describe_step(profile.steps(0)));
  const Access access = write({7});
  const auto submit = [&](std::uint32_t slot, bool collective) {
    profile.submitted({{slot, 0}, "task", 0, {&access, 1}, collective, collective ? 100 : 0});
  };
  const auto record = [&](std::uint32_t slot, std::int64_t step, std::int64_t bytes) {
    const auto kind = bytes > 0 ? TraceKind::communication : TraceKind::compute;
    profile.record({kind, 0, "task", step, 10, 30, bytes, {slot, 0}});
  };
  submit(0, false);
  submit(1, true);
  submit(2, false);
  submit(3, true);
  record(0, 0, 0);
  record(1, 0, 60);
  record(2, 1, 0);
  EXPECT_TRUE(profile.steps(0).empty()) << "a part is missing";
  record(1, 0, 40);
  ASSERT_EQ(profile.steps(0).size(), 1u);
  EXPECT_EQ(profile.steps(0)[0].tasks[0].duration_ns, 20);
  EXPECT_EQ(profile.steps(0)[0].tasks[0].beside_ns, 20);
  EXPECT_EQ(profile.steps(0)[0].tasks[0].accesses[0].data, DataId{0}) << "numbered anew";
  record(3, 1, 100);
  EXPECT_EQ(profile.steps(0).size(), 2u);
  EXPECT_EQ(profile.steps(1).size(), 1u);
}

TEST(StepProfile, FindsWhatAPartCostsInEachGroup) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StepDescription step = expand(random_step(seed));
    step.ranks = 4;
    step.ranks_per_host = 2;
    step.collective_inside = PartCost{static_cast<double>(random() % 50'000), 0.5, 0};
    step.collective_between = PartCost{static_cast<double>(random() % 100'000), 5, 0};
    std::vector<ProfiledStep> steps;
    for (const std::int64_t partition_bytes : {1 << 18, 1 << 16}) {
      ScheduleConfig config;
      config.partition_bytes = partition_bytes;
      config.group_ranks = 2;
      StepProfile profile;
      ASSERT_TRUE(simulate(
          step, {.config = config, .iterations = 3, .trace = &profile, .observer = &profile}));
      std::ranges::move(profile.steps(1), std::back_inserter(steps));
    }
    StepDescription unknown = step;
    unknown.collective_inside = unknown.collective_between = std::nullopt;
    const auto described = with_group_costs(unknown, steps);
    ASSERT_TRUE(described.collective_inside && described.collective_between);
    const auto expect_near = [](const PartCost& found, const PartCost& expected) {
      EXPECT_NEAR(found.alpha_ns, expected.alpha_ns, 100);
      EXPECT_NEAR(found.beta_ns_per_byte, expected.beta_ns_per_byte, 1e-2);
    };
    expect_near(*described.collective_inside, *step.collective_inside);
    expect_near(*described.collective_between, *step.collective_between);

    // Steps without groups give no group costs, and grouped steps give no cost for the world group.
    EXPECT_EQ(with_group_costs(unknown, simulated_steps(step, 3)), unknown);
    const auto alone = describe_step(std::span(steps).first(1));
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ(alone->collective, PartCost{});
  }
}

TEST(StepProfile, FindsWhatDividingAComputationAdds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StepDescription step = expand(random_step(seed));
    std::vector<std::int64_t> expected_ns;
    for (StepTask& task : step.tasks) {
      if (task.collective) continue;
      // Chained by data that none of them divides.
      for (const Access& access : task.accesses) {
        if (access.mode != AccessMode::write) continue;
        expected_ns.push_back(static_cast<std::int64_t>(random() % 10'000));
        task.place.dimensions = {{"rows", DimensionKind::outer, 640, {{access.data, 0, 16}}}};
        task.place.dimensions[0].piece_ns = expected_ns.back();
      }
    }
    ASSERT_FALSE(expected_ns.empty());
    ScheduleConfig config;
    config.compute_parts = 2 + static_cast<int>(random() % 6);
    StepProfile profile;
    ASSERT_TRUE(simulate(
        step, {.config = config, .iterations = 4, .trace = &profile, .observer = &profile}));
    StepDescription unknown = step;
    for (StepTask& task : unknown.tasks)
      for (Dimension& dimension : task.place.dimensions) dimension.piece_ns = 0;
    const auto described = with_piece_costs(unknown, config, profile.steps(1));
    ASSERT_TRUE(described) << described.error().message;
    EXPECT_EQ(*described, step);

    config.compute_parts = 1;
    EXPECT_FALSE(with_piece_costs(unknown, config, profile.steps(1)));
  }
}

/// Simulates a placed step and returns its profiled steps, as the scheduler reports them.
std::vector<ProfiledStep> placed_steps(const StepDescription& step, const ScheduleConfig& config) {
  StepProfile profile;
  StepDescription without_times = step;
  for (StepTask& task : without_times.tasks) task.duration_ns = task.host_duration_ns = 0;
  without_times.to_device = without_times.to_host = {};
  profile.placed(without_times);
  EXPECT_TRUE(
      simulate(step, {.config = config, .iterations = 5, .trace = &profile, .observer = &profile}));
  return profile.steps(1);
}

TEST(StepProfile, DescribesWhatAJobSubmitsOfPlacedSteps) {
  int placed = 0, copied = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StepDescription step = random_placed_step(random);
    step.compute_slowdown = 0;
    step.ranks = 1;
    step.rank_compute_scale.clear();
    for (StepTask& task : step.tasks)
      if (task.place.updates_layer != kNoLayer)
        task.duration_ns = 3 * (task.host_duration_ns = 1000 + static_cast<int>(random() % 50'000));
    const std::int64_t layers = layers_of(step);
    auto profiled = std::vector<ProfiledStep>();
    for (const std::int64_t offload_k : {std::int64_t{0}, layers}) {
      const ScheduleConfig config{.offload_k = offload_k};
      if (!place_description(step, config)) continue;
      for (ProfiledStep& each : placed_steps(step, config)) profiled.push_back(std::move(each));
    }
    if (profiled.empty()) continue;
    ++placed;
    const auto described = describe_step(profiled);
    ASSERT_TRUE(described) << described.error().message;
    EXPECT_EQ(described->device_memory_bytes, step.device_memory_bytes);
    EXPECT_EQ(described->data, step.data);
    EXPECT_EQ(described->data_places, step.data_places);
    ASSERT_EQ(described->tasks.size(), step.tasks.size());
    const bool has_all = profiled.front().tasks.size() == step.tasks.size();
    EXPECT_TRUE(has_all);
    copied += described->to_device != PartCost{};
    for (std::size_t i = 0; i < step.tasks.size(); ++i) {
      const StepTask &task = step.tasks[i], &found = described->tasks[i];
      EXPECT_EQ(found.name, task.name);
      EXPECT_EQ(found.collective, task.collective);
      EXPECT_EQ(found.bytes, task.bytes);
      EXPECT_EQ(found.place, task.place);
      if (task.place.updates_layer == kNoLayer) {
        EXPECT_NEAR(static_cast<double>(found.duration_ns), static_cast<double>(task.duration_ns),
                    1);
        continue;
      }
      const auto near = [](std::int64_t a, std::int64_t b) { return std::abs(a - b) <= 1; };
      EXPECT_TRUE(near(found.host_duration_ns, task.host_duration_ns) ||
                  near(found.duration_ns, task.duration_ns));
    }
  }
  EXPECT_GT(placed, 50);
  EXPECT_GT(copied, 20);
}

TEST(StepProfile, KeepsCopiesApartFromTheTasksOfTheJob) {
  StepProfile profile;
  StepDescription submitted;
  submitted.tasks.emplace_back().name = "task";
  submitted.device_memory_bytes = 1000;
  profile.placed(submitted);
  std::uint32_t slot = 0;
  for (std::uint32_t step = 0; step < 4; ++step) {
    for (const TaskLane lane : {TaskLane::to_device, TaskLane::stream, TaskLane::to_host}) {
      const TaskId task{slot++, 0};
      const bool copies = lane != TaskLane::stream;
      profile.submitted(
          {.id = task, .name = copies ? "copy" : "task", .accesses = {}, .lane = lane});
      profile.record({.kind = copies ? TraceKind::copy : TraceKind::compute,
                      .name = copies ? "copy" : "task",
                      .step = step,
                      .end_ns = lane == TaskLane::to_host ? 8 : 7,
                      .bytes = copies ? 100 : 0,
                      .task = task});
    }
  }
  const auto steps = profile.steps(1);
  ASSERT_EQ(steps.size(), 3u) << "without the first";
  for (const ProfiledStep& step : steps) {
    ASSERT_EQ(step.tasks.size(), 1u);
    EXPECT_EQ(step.tasks[0].duration_ns, 7);
    EXPECT_EQ(step.copies.size(), 2u);
  }
  const auto described = describe_step(steps);
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_EQ(described->tasks.size(), 1u);
  EXPECT_EQ(described->to_device, (PartCost{.beta_ns_per_byte = 0.07}));
  EXPECT_EQ(described->to_host, (PartCost{.beta_ns_per_byte = 0.08}));
}

TEST(StepProfile, NamesOfPlacedStepsAreUnique) {
  StepDescription step;
  for (const char* name : {"same", "same", "same #1"}) step.tasks.emplace_back().name = name;
  step.data = {"x", "x"};
  const StepDescription named = with_unique_names(step);
  EXPECT_NE(named.tasks[0].name, named.tasks[1].name);
  EXPECT_NE(named.tasks[1].name, named.tasks[2].name);
  EXPECT_NE(named.data[0], named.data[1]);
  EXPECT_EQ(with_unique_names(named), named);
}

TEST(StepProfile, StepsPlacedFromDifferentOnesDoNotMakeOne) {
  std::mt19937_64 random(3);
  StepDescription step = random_placed_step(random);
  step.device_memory_bytes = kRoomForAll;
  auto profiled = placed_steps(step, {.offload_k = 1});
  ASSERT_GT(profiled.size(), 1u);
  StepDescription other = *profiled.front().placed_from;
  other.device_memory_bytes += 256;
  profiled.back().placed_from = std::make_shared<const StepDescription>(other);
  EXPECT_THAT(describe_step(profiled).error().message, HasSubstr("not placed from one step"));
}

}  // namespace
}  // namespace hocket
