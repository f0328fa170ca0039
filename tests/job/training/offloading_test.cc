#include "job/training/offloading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/placement/described_placement.h"
#include "core/sim/simulator.h"
#include "job/training/step_measurement.h"
#include "tests/job/training/offloaded_job.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// A rank of a training in phases.
struct PhasedRank {
  PhasedRank(Collective& collective, LanguageTraining options,
             std::optional<std::int64_t> device_bytes) {
    options.rank = collective.rank();
    options.grid = {collective.world_size(), collective.ranks_per_host()};
    if (device_bytes)
      device = EmulatedDevice::create({.memory_bytes = *device_bytes}, clock).value();
    options.placed = device.get();
    model = std::make_unique<LanguageModel>(offloaded_model(), options);
    training.emplace(Training{
        .model = **model, .collective = collective, .clock = clock, .memory = device.get()});
  }

  SteadyClock clock;
  std::unique_ptr<EmulatedDevice> device;
  std::unique_ptr<LanguageModel> model;
  std::optional<Training> training;
};

TEST(Offloading, EveryRankTrainsWithTheChoiceOfRankZero) {
  const LanguageTraining options{.steps = 10};
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
    const TrainingPhase rest{
        .config = decision->config, .first_step = kMinPlacedSteps, .end_step = 10};
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
    const std::uint64_t hash = rank.model->hash();
    const auto refused = decide_offload(*rank.training, {}, kMinPlacedSteps);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(bytes - 256)));
    EXPECT_EQ(rank.model->hash(), hash);
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

TEST(Offloading, ReportsSayWhatAPlacementTakes) {
  run_local_ranks(1, [&](int, Collective& collective) {
    const PhasedRank rank(collective, {}, 1 << 20);
    const StepDescription step = described_step(*rank.training);
    const auto some = placement_values(step, {.offload_k = 1});
    const auto more = placement_values(step, {.offload_k = 2});
    ASSERT_TRUE(some && more);
    EXPECT_EQ(some->limit_bytes, 1 << 20);
    EXPECT_EQ(some->layers, kOffloadedLayers);
    EXPECT_EQ(some->peak_bytes, place_description(step, {.offload_k = 1})->placed.peak_bytes);
    EXPECT_GT(more->peak_bytes, some->peak_bytes);
    EXPECT_FALSE(placement_values(step, {.compute_parts = 2}));
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
      // With the rate and the number of the step, which the host takes by itself.
      const bool updates =
          task.name.starts_with("adamw ") || task.name.find(" for layer ") != std::string::npos;
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
  const LanguageTraining options{.steps = 8};
  run_local_ranks(2, [&](int, Collective& collective) {
    const PhasedRank rank(collective, options, 1 << 20);
    const ScheduleConfig config{.order = CollectiveOrder::static_order, .offload_k = 1};
    std::string warnings;
    const auto order = find_static_order(*rank.training, config, "", {}, 3,
                                         [&](const std::string& text) { warnings += text; });
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(warnings, "");
    EXPECT_EQ(order->from_step, 3);
    EXPECT_EQ(order->parts.value().size(), rank.model->workload().tensors.size());
    TrainingPhase rest{.config = config, .first_step = 3, .end_step = 8};
    rest.options.static_order = order->parts;
    EXPECT_TRUE(run_phase(*rank.training, rest));
  });
}

}  // namespace
}  // namespace hocket
