#include "examples/gpt2/job/offload_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/placement/described_placement.h"
#include "core/sim/simulator.h"
#include "examples/gpt2/job/offloading.h"
#include "tests/examples/gpt2/job/offloaded_job.h"

namespace hocket {
namespace {

using testing::HasSubstr;

std::vector<CopyTime> copies_of(const std::map<std::int64_t, std::vector<std::int64_t>>& times) {
  std::vector<CopyTime> copies;
  for (const auto& [bytes, of_size] : times)
    for (const std::int64_t ns : of_size)
      copies.push_back({.to_device = true, .bytes = bytes, .duration_ns = ns});
  return copies;
}

TEST(CopyCost, IsALineThroughTheMedians) {
  auto copies = copies_of({{1000, {2100, 2000, 90'000}}, {2000, {3000}}, {9000, {10'000, 10'000}}});
  copies.push_back({.to_device = false, .bytes = 10, .duration_ns = 70});
  const PartCost to_device = fit_copy_cost(copies, true);
  EXPECT_NEAR(to_device.alpha_ns, 1000, 150);
  EXPECT_NEAR(to_device.beta_ns_per_byte, 1, 0.05);
  EXPECT_EQ(fit_copy_cost(copies, false), (PartCost{.beta_ns_per_byte = 7}));
}

TEST(CopyCost, IsNeverNegative) {
  EXPECT_EQ(fit_copy_cost({}, true), PartCost{});
  const auto falls = copies_of({{1000, {3000}}, {2000, {1000}}});
  EXPECT_EQ(fit_copy_cost(falls, true), (PartCost{.alpha_ns = 2000}));
  const auto steep = copies_of({{1000, {1000}}, {3000, {5000}}});
  EXPECT_EQ(fit_copy_cost(steep, true), (PartCost{.beta_ns_per_byte = 1.5}));
}

/// Two updates of 100 and 300 bytes, of the layers 0 and 1.
StepDescription two_updates() {
  StepDescription step;
  step.data = {"first", "second"};
  step.data_places = {{.bytes = 100, .layer = 0}, {.bytes = 300, .layer = 1}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    StepTask& task = step.tasks.emplace_back();
    task.name = "update " + step.data[i];
    task.accesses = {update(DataId{i})};
    task.place.updates_layer = i;
  }
  return step;
}

OffloadedSteps steps_with(std::int64_t offload_k, std::int64_t first_ns, std::int64_t second_ns) {
  ProfiledStep step;
  for (const std::int64_t ns : {first_ns, second_ns})
    step.tasks.push_back({.name = "update", .accesses = {}, .duration_ns = ns});
  return {.offload_k = offload_k, .steps = {step, step}, .copies = {}};
}

TEST(UpdateTimes, AreOfTheSideOnWhichTheyRan) {
  const std::vector<OffloadedSteps> both{steps_with(0, 20, 66), steps_with(2, 4, 9)};
  const auto step = with_update_times(two_updates(), both).value();
  EXPECT_EQ(step.tasks[0].host_duration_ns, 20);
  EXPECT_EQ(step.tasks[1].host_duration_ns, 66);
  EXPECT_EQ(step.tasks[0].duration_ns, 4);
  EXPECT_EQ(step.tasks[1].duration_ns, 9);
}

TEST(UpdateTimes, FollowFromTheRateOrElseFromTheOtherSide) {
  const std::vector<OffloadedSteps> mixed{steps_with(1, 5, 60)};
  const auto step = with_update_times(two_updates(), mixed).value();
  EXPECT_EQ(step.tasks[0].duration_ns, 5);
  EXPECT_EQ(step.tasks[1].duration_ns, 15) << "5 ns for 100 bytes";
  EXPECT_EQ(step.tasks[0].host_duration_ns, 20) << "60 ns for 300 bytes";
  EXPECT_EQ(step.tasks[1].host_duration_ns, 60);
  const std::vector<OffloadedSteps> host_alone{steps_with(0, 20, 66)};
  EXPECT_EQ(with_update_times(two_updates(), host_alone).value().tasks[1].duration_ns, 66);
}

TEST(OffloadProfile, KeepsCopiesApartFromTheTasksOfTheJob) {
  OffloadProfile profile;
  constexpr TaskId kCopy{0, 0};
  profile.submitted({.id = kCopy, .name = "fetch x", .accesses = {}, .lane = TaskLane::to_device});
  for (std::uint32_t step = 0; step < 3; ++step) {
    const TaskId task{1 + step, 0};
    profile.submitted({.id = task, .name = "task", .accesses = {}});
    profile.record({.name = "task", .step = step, .begin_ns = 10, .end_ns = 15, .task = task});
    for (const std::int32_t lane : {0, 1}) {
      profile.record({.kind = TraceKind::copy,
                      .lane = lane,
                      .name = "copy",
                      .step = step,
                      .end_ns = 7 + lane,
                      .bytes = 100,
                      .task = kCopy});
    }
  }
  OffloadedSteps taken;
  profile.take(taken);
  ASSERT_EQ(taken.steps.size(), 2u) << "without the first";
  for (const ProfiledStep& step : taken.steps) {
    ASSERT_EQ(step.tasks.size(), 1u);
    EXPECT_EQ(step.tasks[0].duration_ns, 5);
  }
  ASSERT_EQ(taken.copies.size(), 4u) << "without those of the first step";
  EXPECT_EQ(fit_copy_cost(taken.copies, true), (PartCost{.beta_ns_per_byte = 0.07}));
  EXPECT_EQ(fit_copy_cost(taken.copies, false), (PartCost{.beta_ns_per_byte = 0.08}));
}

/// A rank of a training in phases.
struct PhasedRank {
  PhasedRank(Collective& collective, TrainingOptions options,
             std::optional<std::int64_t> device_bytes) {
    options.rank = collective.rank();
    options.world_size = collective.world_size();
    if (device_bytes)
      offload = OffloadBackend::create({.memory_bytes = *device_bytes}, clock).value();
    Backend& backend = offload ? static_cast<Backend&>(*offload) : host;
    model = Gpt2::create(kOffloadedModel, options, offloaded_text(), backend).value();
    training.emplace(Training{
        .model = *model, .collective = collective, .clock = clock, .memory = offload.get()});
  }

  SteadyClock clock;
  HostBackend host;
  std::unique_ptr<OffloadBackend> offload;
  std::unique_ptr<Gpt2> model;
  std::optional<Training> training;
};

TEST(Offloading, EveryRankTrainsWithTheChoiceOfRankZero) {
  const TrainingOptions options{.steps = 10};
  const std::int64_t bytes = least_device_bytes(options, {.offload_k = 2});
  std::vector<std::optional<OffloadedOutcome>> expected(2), trained(2);
  std::vector<OffloadDecision> decisions(2);
  run_local_ranks(2, [&](int rank, Collective& collective) {
    const PhasedRank on_host(collective, options, std::nullopt);
    ASSERT_TRUE(run_phase(*on_host.training, {.config = {}, .end_step = 10}));
    expected[rank].emplace(*on_host.model);
  });
  run_local_ranks(2, [&](int rank, Collective& collective) {
    const PhasedRank on_device(collective, options, bytes);
    auto decision = decide_offload(*on_device.training, {}, kMinPlacedSteps);
    ASSERT_TRUE(decision) << decision.error().message;
    const Phase rest{.config = decision->config, .first_step = kMinPlacedSteps, .end_step = 10};
    const auto ran = run_phase(*on_device.training, rest);
    ASSERT_TRUE(ran) << ran.error().message;
    trained[rank].emplace(*on_device.model);
    decisions[rank] = std::move(*decision);
  });
  EXPECT_EQ(trained, expected);
  EXPECT_EQ(decisions[0].config, decisions[1].config);
  EXPECT_LE(decisions[0].config.offload_k, 2);
  EXPECT_THAT(decisions[0].reason, HasSubstr("predicted iteration"));
  EXPECT_EQ(decisions[1].reason, "");
  EXPECT_EQ(decisions[0].measured.from_step, kMinPlacedSteps);
  EXPECT_TRUE(decisions[0].measured.description);
  EXPECT_FALSE(decisions[1].measured.description);
}

TEST(Offloading, NoNumberOfLayersThatFitsIsRefusedOnEveryRank) {
  const std::int64_t bytes = least_device_bytes({}, {.offload_k = 0});
  run_local_ranks(2, [&](int, Collective& collective) {
    const PhasedRank rank(collective, {}, bytes - 256);
    const std::uint64_t hash = rank.model->parameters_hash();
    const auto refused = decide_offload(*rank.training, {}, kMinPlacedSteps);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(bytes - 256)));
    EXPECT_EQ(rank.model->parameters_hash(), hash);
  });
}

TEST(Offloading, AConfigurationThatDoesNotFitIsRefusedBeforeItRuns) {
  run_local_ranks(1, [&](int, Collective& collective) {
    const std::int64_t bytes = least_device_bytes({}, {.offload_k = 1});
    const PhasedRank rank(collective, {}, bytes);
    EXPECT_TRUE(check_placement(*rank.training, {.offload_k = 1}));
    EXPECT_THAT(check_placement(*rank.training, {.offload_k = 4}).error().message,
                HasSubstr("lower offload_k"));
    EXPECT_THAT(check_placement(*rank.training, {.compute_parts = 2}).error().message,
                HasSubstr("is not partitioned"));
  });
}

TEST(Offloading, AProfileSaysWhatAPlacementNeedsToKnow) {
  constexpr std::int64_t kRoom = 1 << 20;
  run_local_ranks(1, [&](int, Collective& collective) {
    const PhasedRank rank(collective, {.steps = 14}, kRoom);
    const auto step = profile_step(*rank.training, {}, 14);
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_EQ(step->device_memory_bytes, kRoom);
    EXPECT_GT(step->to_device.alpha_ns + step->to_device.beta_ns_per_byte, 0);
    EXPECT_GT(step->to_host.alpha_ns + step->to_host.beta_ns_per_byte, 0);
    EXPECT_EQ(layers_of(*step), kOffloadedLayers);
    for (const StepTask& task : step->tasks) {
      const bool updates = task.name.ends_with(".adamw");
      EXPECT_EQ(task.place.updates_layer != kNoLayer, updates) << task.name;
      EXPECT_EQ(task.host_duration_ns > 0, updates) << task.name;
    }
    const auto read = parse_step_description(to_json(*step).dump());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->device_memory_bytes, kRoom);
    EXPECT_EQ(layers_of(*read), kOffloadedLayers);
    const auto simulated = simulate(*read, {.config = {.offload_k = 1}});
    ASSERT_TRUE(simulated) << simulated.error().message;
    EXPECT_GT(simulated->iteration_ns, 0);
  });
}

TEST(Offloading, AStaticOrderIsFoundOnADeviceToo) {
  const TrainingOptions options{.steps = 8};
  run_local_ranks(2, [&](int, Collective& collective) {
    const PhasedRank rank(collective, options, 1 << 20);
    const ScheduleConfig config{.order = CollectiveOrder::static_order, .offload_k = 1};
    std::string warnings;
    const auto order = find_static_order(*rank.training, config, "", {}, 3,
                                         [&](const std::string& text) { warnings += text; });
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(warnings, "");
    EXPECT_EQ(order->from_step, 3);
    EXPECT_EQ(order->parts.size(), parameter_groups(kOffloadedModel).size());
    Phase rest{.config = config, .first_step = 3, .end_step = 8};
    rest.options.static_order = order->parts;
    EXPECT_TRUE(run_phase(*rank.training, rest));
  });
}

}  // namespace
}  // namespace hocket
