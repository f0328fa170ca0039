#include "core/sim/offload/offload_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/placement/described_placement.h"
#include "core/sim/simulator.h"
#include "tests/core/sim/random_placed_steps.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(OffloadChoice, IsTheFastestThatFits) {
  int chosen = 0, refused = 0, some_do_not_fit = 0;
  for (std::uint64_t seed = 0; seed < rounds(150); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepDescription step = random_placed_step(random);
    if (seed % 8 == 7) step.device_memory_bytes = 256;  // hardly any step fits
    ScheduleConfig config = random_placed_config(random);
    const auto choice = choose_offload(step, config);
    const std::int64_t layers = layers_of(step);
    if (!choice) {
      ++refused;
      EXPECT_EQ(choice.error().code, ErrorCode::invalid_argument);
      config.offload_k = config.prefetch_layers = 0;
      const auto placed = place_description(step, config);
      ASSERT_FALSE(placed) << choice.error().message;
      EXPECT_EQ(choice.error().message, placed.error().message);
      continue;
    }
    ++chosen;
    ASSERT_EQ(std::ssize(choice->candidates), layers + 1);
    const OffloadCandidate& best = choice->chosen();
    EXPECT_TRUE(best.fits());
    for (std::int64_t k = 0; k <= layers; ++k) {
      const OffloadCandidate& candidate = choice->candidates[static_cast<std::size_t>(k)];
      EXPECT_EQ(candidate.offload_k, k);
      config.offload_k = k;
      bool any_fits = false;
      for (const std::int64_t prefetch_layers : {0, 1, 2, 4}) {
        config.prefetch_layers = prefetch_layers;
        const auto simulation = PreparedStep::make(step)->simulation(config);
        any_fits = any_fits || simulation.has_value();
        if (!simulation) continue;
        EXPECT_LE(candidate.iteration_ns, simulation->iteration_ns);
        if (prefetch_layers < candidate.prefetch_layers) {
          EXPECT_LT(candidate.iteration_ns, simulation->iteration_ns) << "the least is enough";
        }
        if (prefetch_layers != candidate.prefetch_layers) continue;
        EXPECT_EQ(candidate.iteration_ns, simulation->iteration_ns);
        EXPECT_EQ(candidate.peak_bytes, simulation->device_peak_bytes);
        EXPECT_LE(candidate.peak_bytes, step.device_memory_bytes);
      }
      EXPECT_EQ(candidate.fits(), any_fits);
      if (!any_fits) {
        ++some_do_not_fit;
        EXPECT_EQ(candidate.iteration_ns, 0);
        config.prefetch_layers = 0;
        EXPECT_EQ(candidate.why_not, place_description(step, config).error().message);
        continue;
      }
      EXPECT_LE(best.iteration_ns, candidate.iteration_ns);
      if (k > best.offload_k) {
        EXPECT_LT(best.iteration_ns, candidate.iteration_ns) << "the highest offload_k is enough";
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(chosen, static_cast<int>(rounds(50)));
  EXPECT_GT(refused, 0);
  EXPECT_GT(some_do_not_fit, 0);
}

TEST(OffloadChoice, RefusesWhatItCannotJudge) {
  std::mt19937_64 random(1);
  StepDescription step = described(step_of({.layers = 2}), random, false);
  EXPECT_TRUE(choose_offload(step, {}));
  ScheduleConfig config;
  config.streams = 0;
  EXPECT_THAT(choose_offload(step, config).error().message, HasSubstr("streams"));
  config = {};
  config.bucket_bytes = 1 << 20;
  EXPECT_THAT(choose_offload(step, config).error().message, HasSubstr("not partitioned"));
  step.device_memory_bytes = 256;
  EXPECT_THAT(choose_offload(step, {}).error().message, HasSubstr("device_memory_bytes is 256"));
  step.device_memory_bytes = 0;
  EXPECT_THAT(choose_offload(step, {}).error().message, HasSubstr("no device_memory_bytes"));
}

/// Returns a step whose backward passes take 10 µs a layer, and whose updates take the host
/// `update_ns`. Gradients are summed over ranks before an update, and hold two tensors each.
StepDescription backward_and_update(std::int64_t layers, std::int64_t update_ns) {
  StepDescription step;
  const auto add_data = [&](const std::string& name, const DataPlace& place) {
    step.data.push_back(name);
    step.data_places.push_back(place);
    return DataId{static_cast<std::uint32_t>(step.data.size()) - 1};
  };
  const auto add_task = [&](const std::string& name, std::vector<Access> accesses) -> StepTask& {
    StepTask& task = step.tasks.emplace_back();
    task.name = name;
    task.accesses = std::move(accesses);
    return task;
  };
  std::vector<DataId> weights;
  for (std::int64_t l = 0; l < layers; ++l)
    weights.push_back(add_data("w" + std::to_string(l), {.bytes = 100, .layer = l}));
  for (std::int64_t l = 0; l < layers; ++l)
    add_task("forward " + std::to_string(l), {read(weights[static_cast<std::size_t>(l)])})
        .duration_ns = 7000;
  for (std::int64_t l = layers; l-- > 0;) {
    const std::string name = std::to_string(l);
    const DataId gradient = add_data("g" + name, {.bytes = 100});
    const DataId tensor = add_data("g" + name + ".0", {.range_of = gradient.index});
    add_task("backward " + name, {read(weights[static_cast<std::size_t>(l)]), write(tensor)})
        .duration_ns = 10'000;
    StepTask& sum = add_task("sum " + name, {update(tensor)});
    sum.collective = CollectiveKind::all_reduce;
    sum.bytes = 100;
    StepTask& task =
        add_task("update " + name, {read(gradient), update(weights[static_cast<std::size_t>(l)])});
    task.place.updates_layer = l;
    task.duration_ns = 1000;
    task.host_duration_ns = update_ns;
  }
  return step;
}

TEST(OffloadChoice, CoTrainsRuleTakesTheFewestLayersForTheDevice) {
  // The host updates the last of four layers from 30 µs before the end of the backward pass on, the
  // next from 20 µs on, the next from 10 µs on.
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 0)), 1) << "0 takes the time of the device";
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 10'000)), 1);
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 10'001)), 2);
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 15'000)), 2);
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 15'001)), 3);
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 30'000)), 3);
  EXPECT_EQ(cotrain_offload_k(backward_and_update(4, 30'001)), 4);
  // A gradient is there when its backward pass has ended, however late its sum is submitted.
  StepDescription late = backward_and_update(4, 15'000);
  std::ranges::stable_partition(late.tasks, [](const StepTask& task) {
    return !task.collective && task.place.updates_layer == kNoLayer;
  });
  EXPECT_EQ(cotrain_offload_k(late), 2);
  StepDescription free = backward_and_update(4, 0);
  for (StepTask& task : free.tasks)
    if (task.place.updates_layer != kNoLayer) task.duration_ns = 0;
  EXPECT_EQ(cotrain_offload_k(free), 0);
  StepDescription simple;
  simple.layers = {{"layer", 100, 10, 20}};
  EXPECT_EQ(cotrain_offload_k(simple), 0) << "no task updates a layer";
}

TEST(OffloadChoice, CoTrainsRuleKeepsMoreLayersWithASlowerHost) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepDescription step =
        described(step_of({.layers = 1 + static_cast<int>(random() % 8)}), random, true);
    for (StepTask& task : step.tasks)
      if (task.place.updates_layer != kNoLayer) task.host_duration_ns += 1;
    const std::int64_t before = cotrain_offload_k(step);
    for (StepTask& task : step.tasks) task.host_duration_ns *= 2;
    EXPECT_GE(cotrain_offload_k(step), before);
    EXPECT_LE(cotrain_offload_k(step), layers_of(step));
  }
}

}  // namespace
}  // namespace hocket
