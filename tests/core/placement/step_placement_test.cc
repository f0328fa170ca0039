#include "core/placement/step_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "core/plan/dependency_graph.h"
#include "tests/core/placement/placed_model.h"
#include "tests/core/placement/placed_program.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// Runs steps one after the other on a device of `memory_bytes`, each task at any time at which its
/// dependencies allow it.
class Machine {
 public:
  Machine(const StepToPlace& step, const PlacedStep& placed, std::int64_t memory_bytes)
      : step_(step),
        placed_(placed),
        host_(initial(step)),
        device_(static_cast<std::size_t>(memory_bytes / kCellBytes)) {
    for (std::uint32_t i = 0; i < step.data.size(); ++i)
      if (placed.home[i] == PlacementSite::device && placed.address_bytes[i] != kNotOnDevice)
        store(i, host_[i]);
  }

  void run(int rounds, std::mt19937_64& random) {
    struct Origin {
      int round = 0;
      std::uint32_t task = 0;
    };
    DependencyGraph<Origin> graph;
    for (std::uint32_t i = 0; i < placed_.data; ++i) graph.add_data();
    std::vector<TaskId> ready;
    for (int round = 0; round < rounds; ++round) {
      for (std::uint32_t task = 0; task < placed_.tasks.size(); ++task) {
        const auto added = graph.add(placed_.tasks[task].accesses);
        graph.fields(added.task.slot) = {round, task};
        if (added.ready) ready.push_back(added.task);
      }
    }
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const TaskId task = ready.back();
      ready.pop_back();
      const Origin origin = graph.fields(task.slot);
      run(placed_.tasks[origin.task], origin.round);
      graph.finish(task, [&](std::uint32_t next) { ready.push_back(graph.id_of(next)); });
    }
    EXPECT_EQ(graph.live(), 0U);
  }

  /// Returns the values of the data that outlive the step; others have none.
  std::optional<Value> value(std::uint32_t item) {
    if (placed_.home[item] == PlacementSite::host || placed_.address_bytes[item] == kNotOnDevice)
      return host_[item];
    return load(item);
  }

 private:
  std::pair<std::size_t, std::size_t> cells(std::uint32_t item) const {
    const std::int64_t begin = placed_.address_bytes[item];
    EXPECT_GE(begin, 0) << step_.data[item].name;
    return {
        static_cast<std::size_t>(begin / kCellBytes),
        static_cast<std::size_t>((begin + step_.data[item].bytes + kCellBytes - 1) / kCellBytes)};
  }
  Value load(std::uint32_t item) {
    const auto [begin, end] = cells(item);
    for (std::size_t cell = begin; cell < end; ++cell)
      if (device_.at(cell) != device_.at(begin)) return 0;  // torn
    return device_.at(begin);
  }
  void store(std::uint32_t item, Value value) {
    const auto [begin, end] = cells(item);
    for (std::size_t cell = begin; cell < end; ++cell) device_.at(cell) = value;
  }

  void run(const PlacedTask& task, int round) {
    if (task.kind == PlacedKind::fetch) return store(task.source, host_[task.source]);
    if (task.kind == PlacedKind::evict) return void(host_[task.source] = load(task.source));
    const bool on_host = task.site == PlacementSite::host;
    const auto is_elsewhere = [&](std::uint32_t i) { return on_host || step_.data[i].bytes == 0; };
    perform(
        step_, task.source, round,
        [&](std::uint32_t i) { return is_elsewhere(i) ? host_[i] : load(i); },
        [&](std::uint32_t i, Value value) {
          is_elsewhere(i) ? void(host_[i] = value) : store(i, value);
        });
  }

  const StepToPlace& step_;
  const PlacedStep& placed_;
  Memory host_;
  std::vector<Value> device_;
};

/// Places the step with the given limit, and compares what it computes with the step in order.
/// Returns nothing if it does not fit.
std::optional<PlacedStep> expect_equal(const StepToPlace& step, const PlacementOptions& options,
                                       std::mt19937_64& random) {
  auto placed = place_step(step, options);
  if (!placed) return std::nullopt;
  EXPECT_LE(placed->peak_bytes, options.device_memory_bytes);
  constexpr int kSteps = 3;
  const Memory expected = run_in_order(step, kSteps);
  Machine machine(step, *placed,
                  (options.device_memory_bytes + kCellBytes - 1) / kCellBytes * kCellBytes);
  machine.run(kSteps, random);
  for (std::uint32_t item = 0; item < step.data.size(); ++item) {
    if (!outlives(step, item)) continue;
    EXPECT_EQ(machine.value(item), expected[item]) << step.data[item].name;
  }
  return std::move(*placed);
}

TEST(StepPlacement, ModelsComputeTheSameWithinEveryLimit) {
  int placed_steps = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](int bound) {
      return static_cast<int>(random() % static_cast<unsigned>(bound));
    };
    const ModelOfLayers model{.layers = 1 + below(6),
                              .micro_batches = 1 + below(3),
                              .parameter_bytes = 256 * (1 + below(6)),
                              .state_bytes = 512 * (1 + below(6)),
                              .activation_bytes = 100 * (1 + below(6)),
                              .is_tied = below(2) == 0};
    const StepToPlace step = step_of(model);
    PlacementOptions options{.device_memory_bytes = 256 * (8 + below(200)),
                             .offload_k = below(model.layers + 2),
                             .prefetch_layers = below(4)};
    expect_equal(step, options, random) ? ++placed_steps : ++refused;
    if (HasFailure()) return;
  }
  EXPECT_GT(placed_steps, static_cast<int>(rounds(100)));
  EXPECT_GT(refused, 0);
}

TEST(StepPlacement, RandomStepsComputeTheSame) {
  int placed_steps = 0;
  for (std::uint64_t seed = 0; seed < rounds(2000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepToPlace step = random_step(random);
    const PlacementOptions options{
        .device_memory_bytes = static_cast<std::int64_t>(256 * (2 + random() % 30)),
        .offload_k = static_cast<std::int64_t>(random() % 5),
        .prefetch_layers = static_cast<std::int64_t>(random() % 4)};
    placed_steps += expect_equal(step, options, random) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(placed_steps, static_cast<int>(rounds(800)));
}

int copies(const PlacedStep& placed, PlacedKind kind, std::uint32_t data) {
  return static_cast<int>(std::ranges::count_if(placed.tasks, [&](const PlacedTask& task) {
    return task.kind == kind && task.source == data;
  }));
}

std::uint32_t index_of(const StepToPlace& step, const std::string& name) {
  const auto found = std::ranges::find(step.data, name, &DataToPlace::name);
  EXPECT_NE(found, step.data.end()) << name;
  return static_cast<std::uint32_t>(found - step.data.begin());
}

TEST(StepPlacement, AllLayersOnTheDeviceNeedNoCopies) {
  const StepToPlace step = step_of({.layers = 4});
  const auto placed = place_step(step, {.device_memory_bytes = 1 << 20, .offload_k = 4}).value();
  EXPECT_EQ(placed.tasks.size(), step.tasks.size());
  for (const PlacedTask& task : placed.tasks) EXPECT_EQ(task.site, PlacementSite::device);
}

TEST(StepPlacement, OnTheHostALayerIsFetchedForEachPassAndItsGradientMovedOut) {
  const StepToPlace step = step_of({.layers = 5});
  const auto placed = place_step(step, {.device_memory_bytes = 1 << 20, .offload_k = 2}).value();
  for (int l = 0; l < 5; ++l) {
    const std::string layer = "layer." + std::to_string(l);
    SCOPED_TRACE(layer);
    const auto parameters = index_of(step, layer), gradient = index_of(step, layer + ".gradient"),
               state = index_of(step, layer + ".state");
    const bool is_hosts = l >= 2;
    // The last layer goes back as soon as it went forward; the one before follows within a layer.
    const int fetches = !is_hosts ? 0 : l == 4 ? 1 : 2;
    EXPECT_EQ(copies(placed, PlacedKind::fetch, parameters), fetches);
    EXPECT_EQ(copies(placed, PlacedKind::evict, parameters), 0) << "the host has them";
    EXPECT_EQ(copies(placed, PlacedKind::evict, gradient), is_hosts ? 1 : 0);
    EXPECT_EQ(placed.home[parameters], is_hosts ? PlacementSite::host : PlacementSite::device);
    EXPECT_EQ(placed.address_bytes[state] == kNotOnDevice, is_hosts);
  }
  for (const PlacedTask& task : placed.tasks) {
    const bool is_update =
        task.kind == PlacedKind::task && step.tasks[task.source].updates_layer >= 2;
    EXPECT_EQ(task.kind == PlacedKind::task && task.site == PlacementSite::host, is_update);
  }
}

TEST(StepPlacement, AModelOfFourTimesTheMemoryFits) {
  const ModelOfLayers model{.layers = 24, .parameter_bytes = 4096, .state_bytes = 8192};
  const StepToPlace step = step_of(model);
  std::int64_t all_bytes = 0;
  for (const DataToPlace& item : step.data) all_bytes += item.bytes;
  std::mt19937_64 random(1);
  EXPECT_TRUE(expect_equal(step, {.device_memory_bytes = all_bytes / 4 / 256 * 256}, random));
}

TEST(StepPlacement, FetchesRunAheadByTheLayersGiven) {
  const StepToPlace step = step_of({.layers = 6});
  for (const std::int64_t ahead : {0, 1, 2, 3}) {
    SCOPED_TRACE("prefetch_layers " + std::to_string(ahead));
    const auto placed =
        place_step(step, {.device_memory_bytes = 1 << 20, .prefetch_layers = ahead}).value();
    const auto position = [&](PlacedKind kind, std::uint32_t source) {
      return std::ranges::find_if(placed.tasks,
                                  [&](const PlacedTask& task) {
                                    return task.kind == kind && task.source == source;
                                  }) -
             placed.tasks.begin();
    };
    // Forward task l is task l of the step.
    const auto fetch = position(PlacedKind::fetch, index_of(step, "layer.4"));
    EXPECT_LT(fetch, position(PlacedKind::task, static_cast<std::uint32_t>(4 - ahead)));
    if (ahead < 4) {
      EXPECT_GT(fetch, position(PlacedKind::task, static_cast<std::uint32_t>(3 - ahead)));
    }
  }
}

TEST(StepPlacement, RefusesWhatCanNeverFit) {
  const StepToPlace step = step_of({.layers = 3, .parameter_bytes = 5000});
  const auto refused = place_step(step, {.device_memory_bytes = 8192});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("task \"backward.2\" needs"));
  EXPECT_THAT(refused.error().message, HasSubstr("of layer 2, 5000 B"));
  EXPECT_THAT(refused.error().message, HasSubstr("device_memory_bytes is 8192"));
}

TEST(StepPlacement, TheHostMayNotWriteWhatStaysOnTheDevice) {
  StepToPlace step = step_of({.layers = 2});
  step.data.push_back({"scale", 4});
  step.tasks.front().accesses.push_back(
      read(DataId{static_cast<std::uint32_t>(step.data.size()) - 1}));
  step.tasks.back().accesses.push_back(
      update(DataId{static_cast<std::uint32_t>(step.data.size()) - 1}));
  const auto refused = place_step(step, {.device_memory_bytes = 1 << 20});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("task \"update.0\" runs on the host"));
  EXPECT_THAT(refused.error().message, HasSubstr("\"scale\", which stays on the device"));
}

TEST(StepPlacement, WhatHoldsNothingBetweenStepsIsNeitherFetchedNorKept) {
  StepToPlace step = step_of({.layers = 2});
  const std::uint32_t gradient = index_of(step, "layer.1.gradient");
  step.data[gradient].is_transient = true;
  for (TaskToPlace& task : step.tasks)
    for (Access& access : task.accesses)
      if (access.data.index == gradient) access.mode = AccessMode::update;
  const auto placed = place_step(step, {.device_memory_bytes = 1 << 20, .offload_k = 0}).value();
  EXPECT_EQ(copies(placed, PlacedKind::fetch, gradient), 0);
  EXPECT_EQ(copies(placed, PlacedKind::evict, gradient), 1);
  const auto kept = place_step(step, {.device_memory_bytes = 1 << 20, .offload_k = 2}).value();
  EXPECT_EQ(copies(kept, PlacedKind::fetch, gradient), 0);
  EXPECT_EQ(copies(kept, PlacedKind::evict, gradient), 0);
}

TEST(StepPlacement, ReadersOfWhatHasJustBegunWaitForTheTaskThatTookItsMemory) {
  StepToPlace step;
  step.data = {{"first", 1024}, {"second", 1024, kNoLayer, true}};
  const DataId first{0}, second{1};
  step.tasks = {{"write first", {write(first)}},
                {"read first", {read(first)}},
                {"read second", {read(second)}},
                {"read second again", {read(second)}}};
  const auto placed = place_step(step, {.device_memory_bytes = 1024}).value();
  ASSERT_EQ(placed.address_bytes[0], placed.address_bytes[1]);
  DependencyGraph<int> graph;
  for (std::uint32_t i = 0; i < placed.data; ++i) graph.add_data();
  std::vector<TaskId> tasks;
  for (const PlacedTask& task : placed.tasks) tasks.push_back(graph.add(task.accesses).task);
  std::vector<std::uint32_t> ready;
  graph.finish(tasks[0], [&](std::uint32_t slot) { ready.push_back(slot); });
  EXPECT_EQ(ready, std::vector{tasks[1].slot}) << "the second item's memory is still the first's";
}

}  // namespace
}  // namespace hocket
