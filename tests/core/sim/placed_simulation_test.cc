#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "core/placement/described_placement.h"
#include "core/plan/overlap_bound.h"
#include "core/sim/simulator.h"
#include "core/sim/step_bound.h"
#include "tests/core/sim/random_placed_steps.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

class PlacedTrace final : public TraceSink {
 public:
  void record(const TraceEvent& event) override { events.push_back(event); }
  std::vector<TraceEvent> events;
};

/// A simulated placed step, with the trace of one rank.
struct PlacedRun {
  StepDescription step;
  ScheduleConfig config;
  PlacedDescription placed;
  Simulation simulation;
  std::vector<TraceEvent> trace;

  std::uint32_t index_of(const TraceEvent& event) const {
    return simulation.names->index_of(event.task);
  }
  /// Sum of the durations of a lane's tasks, on a rank that is not slower.
  std::int64_t lane_ns(TaskLane lane) const {
    std::int64_t ns = 0;
    for (const StepTask& task : placed.step.tasks)
      if (task.lane == lane) ns += task.duration_ns;
    return ns;
  }
};

/// Returns nothing where the step does not fit.
std::optional<PlacedRun> placed_run(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  PlacedRun run{.step = random_placed_step(random),
                .config = random_placed_config(random),
                .placed = {},
                .simulation = {},
                .trace = {}};
  auto placed = place_description(run.step, run.config);
  PlacedTrace trace;
  auto simulation = simulate(run.step, {.config = run.config, .trace = &trace});
  EXPECT_EQ(placed.has_value(), simulation.has_value())
      << (simulation ? "" : simulation.error().message);
  if (!placed || !simulation) return std::nullopt;
  run.placed = std::move(*placed);
  run.simulation = std::move(*simulation);
  run.trace = std::move(trace.events);
  return run;
}

/// Calls `expect` with many random placed steps, until one fails.
template <class Expect>
void for_each_run(const Expect& expect) {
  std::uint64_t runs = 0;
  for (std::uint64_t seed = 0; seed < rounds(600); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto run = placed_run(seed);
    if (run) expect(*run);
    runs += run ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(runs, rounds(300));
}

TEST(PlacedSimulation, ALaneRunsOneTaskAtATime) {
  for_each_run([](const PlacedRun& run) {
    std::map<std::pair<TraceKind, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
    for (const TraceEvent& event : run.trace) {
      lanes[{event.kind, event.lane}].emplace_back(event.begin_ns, event.end_ns);
      if (event.kind == TraceKind::communication) continue;
      const TaskLane lane = run.placed.step.tasks[run.index_of(event)].lane;
      const bool is_copy = lane == TaskLane::to_device || lane == TaskLane::to_host;
      EXPECT_EQ(event.kind == TraceKind::copy, is_copy) << event.name;
      if (is_copy) {
        EXPECT_EQ(event.lane, lane == TaskLane::to_device ? 0 : 1);
        EXPECT_GT(event.bytes, 0);
      } else {
        EXPECT_EQ(event.lane == run.config.streams, lane == TaskLane::host) << event.name;
      }
    }
    for (auto& [lane, intervals] : lanes) {
      std::ranges::sort(intervals);
      for (std::size_t i = 1; i < intervals.size(); ++i)
        EXPECT_GE(intervals[i].first, intervals[i - 1].second) << lane.second;
    }
  });
}

TEST(PlacedSimulation, IsNeverFasterThanItsBoundAndItsLanes) {
  for_each_run([](const PlacedRun& run) {
    Simulation s = run.simulation;
    // A period that does not settle is a mean that includes the ends of its window.
    const bool is_steady = s.iterations_ns.size() < 64;
    if (!is_steady) s = simulate(run.step, {.config = run.config, .iterations = 2000}).value();
    const double most = static_cast<double>(s.iteration_ns) * (is_steady ? 1 : 1.005) + 4;
    EXPECT_LE(static_cast<double>(s.bound_ns), most);
    for (const std::int64_t busy_ns : {s.host_ns, s.to_device_ns, s.to_host_ns, s.compute_ns})
      EXPECT_LE(static_cast<double>(busy_ns), most);
    for (const TaskLane lane : {TaskLane::host, TaskLane::to_device, TaskLane::to_host})
      EXPECT_GE(s.bound_ns, run.lane_ns(lane));
  });
}

TEST(PlacedSimulation, LanesOtherThanStreamsCanOverlapToo) {
  for_each_run([](const PlacedRun& run) {
    const StepBound bound = bound_of(run.step, run.config).value();
    const auto& scales = run.step.rank_compute_scale;
    const double slowest = scales.empty() ? 1 : *std::ranges::max_element(scales);
    const auto scaled_ns = [&](TaskLane lane) {
      return static_cast<double>(run.lane_ns(lane)) * slowest;
    };
    const std::int64_t copies_ns =
        run.lane_ns(TaskLane::to_device) + run.lane_ns(TaskLane::to_host);
    EXPECT_NEAR(static_cast<double>(bound.compute_ns), scaled_ns(TaskLane::stream), 20);
    EXPECT_NEAR(static_cast<double>(bound.lanes_ns - copies_ns), scaled_ns(TaskLane::host), 20);
    EXPECT_EQ(run.simulation.bound_ns, bound.bound_ns);
    EXPECT_EQ(run.simulation.efficiency,
              overlap_efficiency(bound.compute_ns + bound.lanes_ns, bound.communication_ns,
                                 bound.bound_ns, run.simulation.iteration_ns));
  });
}

TEST(PlacedSimulation, EachIterationRunsEachTaskOfALane) {
  for_each_run([](const PlacedRun& run) {
    const Simulation& s = run.simulation;
    EXPECT_LE(s.device_peak_bytes, run.step.device_memory_bytes);
    EXPECT_EQ(s.device_peak_bytes, run.placed.placed.peak_bytes);
    if (s.iterations_ns.size() == 64) return;  // not steady
    constexpr double kRoundingNs = 16;
    EXPECT_NEAR(static_cast<double>(s.to_device_ns),
                static_cast<double>(run.lane_ns(TaskLane::to_device)), kRoundingNs);
    EXPECT_NEAR(static_cast<double>(s.to_host_ns),
                static_cast<double>(run.lane_ns(TaskLane::to_host)), kRoundingNs);
    double scale = 0;
    for (const double each : run.step.rank_compute_scale)
      scale += each / static_cast<double>(run.step.ranks);
    if (run.step.rank_compute_scale.empty()) scale = 1;
    EXPECT_NEAR(static_cast<double>(s.host_ns),
                static_cast<double>(run.lane_ns(TaskLane::host)) * scale, kRoundingNs);
  });
}

/// For each task of the placed step, the tasks that must have ended before it because they brought
/// what it reads to its side. Follows the data of the description, not the placement's accesses.
std::vector<std::vector<std::uint32_t>> suppliers_of(const PlacedRun& run) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Copies {
    std::uint32_t device = kNone, host = kNone;  // who wrote the value there, in this step
  };
  std::vector<Copies> copies(run.step.data.size());
  std::vector<std::vector<std::uint32_t>> suppliers;
  for (std::uint32_t task = 0; task < run.placed.placed.tasks.size(); ++task) {
    const PlacedTask& placed = run.placed.placed.tasks[task];
    std::vector<std::uint32_t>& its = suppliers.emplace_back();
    const auto waits_for = [&](std::uint32_t other) {
      if (other != kNone) its.push_back(other);
    };
    if (placed.kind == PlacedKind::fetch) {
      waits_for(copies[placed.source].host);
      copies[placed.source].device = task;
    } else if (placed.kind == PlacedKind::evict) {
      waits_for(copies[placed.source].device);
      copies[placed.source].host = task;
    } else {
      const auto here = placed.site == PlacementSite::host ? &Copies::host : &Copies::device;
      for (const Access& access : run.step.tasks[placed.source].accesses)
        if (access.mode != AccessMode::write) waits_for(copies[access.data.index].*here);
      for (const Access& access : run.step.tasks[placed.source].accesses)
        if (access.mode != AccessMode::read) copies[access.data.index].*here = task;
    }
  }
  return suppliers;
}

TEST(PlacedSimulation, NoTaskBeginsBeforeWhatItReadsHasArrived) {
  int fetched = 0;
  for_each_run([&](const PlacedRun& run) {
    const auto suppliers = suppliers_of(run);
    // The begin of the first interval and the end of the last, by launch and task.
    std::map<std::int64_t, std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>> launches;
    for (const TraceEvent& event : run.trace) {
      const auto [at, is_new] =
          launches[event.step].try_emplace(run.index_of(event), event.begin_ns, event.end_ns);
      if (is_new) continue;
      at->second.first = std::min(at->second.first, event.begin_ns);
      at->second.second = std::max(at->second.second, event.end_ns);
    }
    for (const auto& [launch, tasks] : launches) {
      for (const auto& [task, interval] : tasks) {
        for (const std::uint32_t supplier : suppliers[task]) {
          const auto found = tasks.find(supplier);
          ASSERT_NE(found, tasks.end());
          EXPECT_LE(found->second.second, interval.first)
              << run.placed.step.tasks[task].name << " begins before "
              << run.placed.step.tasks[supplier].name << " has ended";
          fetched += run.placed.placed.tasks[supplier].kind == PlacedKind::fetch ? 1 : 0;
        }
      }
    }
  });
  EXPECT_GT(fetched, 1000);
}

TEST(PlacedSimulation, WithRoomForAllThatLastsAStepIsAsFastAsUnplaced) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepToPlace source = random_step(random);
    // Data that end with a step share memory with others, whose tasks wait for theirs.
    for (DataToPlace& data : source.data) data.layer = std::max<std::int64_t>(data.layer, 0);
    // Steps follow one another at their last task.
    source.tasks.push_back({"last", {update(DataId{0})}});
    StepDescription step = described(source, random, true);
    ScheduleConfig config = random_placed_config(random);
    config.offload_k = kAllLayers;
    const auto placed = simulate(step, {.config = config});
    ASSERT_TRUE(placed) << placed.error().message;
    EXPECT_EQ(placed->to_device_ns + placed->to_host_ns + placed->host_ns, 0);
    step.device_memory_bytes = 0;
    const auto unplaced = simulate(step, {.config = config}).value();
    EXPECT_EQ(placed->iterations_ns, unplaced.iterations_ns);
    EXPECT_EQ(placed->part_order, unplaced.part_order);
    EXPECT_EQ(unplaced.device_peak_bytes, 0);
    if (HasFailure()) return;
  }
}

TEST(PlacedSimulation, OneStreamWithoutCommunicationIsAlwaysBusyWhereAllLayersStay) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = described(random_step(random), random, false);
    ScheduleConfig config;
    config.offload_k = kAllLayers;
    const auto placed = simulate(step, {.config = config}).value();
    std::int64_t all_ns = 0;
    for (const StepTask& task : step.tasks) all_ns += task.duration_ns;
    EXPECT_EQ(placed.iteration_ns, all_ns) << "also with memory that data share";
    EXPECT_EQ(placed.compute_ns, all_ns);
    EXPECT_EQ(placed.bound_ns, all_ns);
    if (HasFailure()) return;
  }
}

TEST(PlacedSimulation, RanksThatAreAlikeAreFolded) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepDescription step = random_placed_step(random);
    step.ranks = 3;
    step.rank_compute_scale.clear();
    const ScheduleConfig config = random_placed_config(random);
    const auto folded = simulate(step, {.config = config, .iterations = 5});
    step.jitter = {.kind = JitterKind::uniform, .scale = 0};  // makes each rank its own
    const auto all = simulate(step, {.config = config, .iterations = 5});
    ASSERT_EQ(folded.has_value(), all.has_value());
    if (!folded) continue;
    EXPECT_EQ(folded->simulated_ranks, 1);
    EXPECT_EQ(all->simulated_ranks, 3);
    EXPECT_EQ(folded->iterations_ns, all->iterations_ns);
    EXPECT_EQ(folded->host_ns, all->host_ns);
    EXPECT_EQ(folded->to_device_ns, all->to_device_ns);
    EXPECT_EQ(folded->to_host_ns, all->to_host_ns);
    EXPECT_EQ(folded->device_peak_bytes, all->device_peak_bytes);
    if (HasFailure()) return;
  }
}

TEST(PlacedSimulation, APreparedStepAndAStaticOrderPredictTheSame) {
  for_each_run([](const PlacedRun& run) {
    const auto prepared = PreparedStep::make(run.step).value();
    const auto again = prepared.simulation(run.config).value();
    EXPECT_EQ(again.iteration_ns, run.simulation.iteration_ns);
    EXPECT_EQ(again.device_peak_bytes, run.simulation.device_peak_bytes);
    EXPECT_EQ(again.part_order, run.simulation.part_order);
    if (run.config.order == CollectiveOrder::static_order) {
      EXPECT_EQ(static_order(run.step, run.config).value(), run.simulation.part_order);
    }
  });
}

/// A layer on the host and one that stays. The device computes 10 µs, the host updates for 30 µs.
StepDescription two_layers() {
  StepDescription step;
  step.data = {"w0", "w1", "g1", "x"};
  step.data_places = {
      {.bytes = 1000, .layer = 0}, {.bytes = 500, .layer = 1}, {.bytes = 500}, {.bytes = 100}};
  const auto add = [&](std::string name, std::int64_t duration_ns, std::vector<Access> accesses) {
    StepTask& task = step.tasks.emplace_back();
    task.name = std::move(name);
    task.duration_ns = duration_ns;
    task.accesses = std::move(accesses);
  };
  add("forward", 4000, {read(DataId{0}), read(DataId{1}), write(DataId{3})});
  add("backward", 6000, {read(DataId{1}), read(DataId{3}), write(DataId{2})});
  add("update", 2000, {read(DataId{2}), update(DataId{1})});
  step.tasks.back().place.updates_layer = 1;
  step.tasks.back().host_duration_ns = 30'000;
  step.device_memory_bytes = 4096;
  step.to_device = {100, 2, 50};
  step.to_host = {200, 4, 0};
  return step;
}

TEST(PlacedSimulation, CountsCopiesAndUpdatesOfTheHost) {
  StepDescription step = two_layers();
  ScheduleConfig config;
  config.offload_k = 1;
  const auto placed = simulate(step, {.config = config}).value();
  // Fetch, forward and backward, move the gradient out, update, one after the other.
  EXPECT_EQ(placed.to_device_ns, 100 + 1000 + 50);
  EXPECT_EQ(placed.compute_ns, 10'000);
  EXPECT_EQ(placed.to_host_ns, 200 + 2000);
  EXPECT_EQ(placed.host_ns, 30'000);
  EXPECT_EQ(placed.iteration_ns, 1150 + 10'000 + 2200 + 30'000);
  EXPECT_EQ(placed.bound_ns, placed.iteration_ns);
  EXPECT_EQ(placed.efficiency, 1);
  EXPECT_EQ(placed.device_peak_bytes, 1024 + 512 + 512 + 256);
  // The links to the host are as fast for a rank that computes at half the speed.
  step.rank_compute_scale = {2};
  const auto slower = simulate(step, {.config = config}).value();
  EXPECT_EQ(slower.iteration_ns, 1150 + 20'000 + 2200 + 60'000);
  EXPECT_EQ(slower.bound_ns, slower.iteration_ns);
  config.offload_k = 2;
  EXPECT_EQ(simulate(two_layers(), {.config = config})->iteration_ns, 12'000);
}

TEST(PlacedSimulation, SaysWhyAStepDoesNotFit) {
  StepDescription step = two_layers();
  step.device_memory_bytes = 1536;
  const auto refused = simulate(step, {.config = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("device_memory_bytes is 1536"));
  EXPECT_FALSE(bound_of(step, {}));
  EXPECT_FALSE(PreparedStep::make(step)->iteration_ns({}));
  ScheduleConfig buckets;
  buckets.bucket_bytes = 1 << 20;
  step.device_memory_bytes = 4096;
  EXPECT_THAT(simulate(step, {.config = buckets}).error().message, HasSubstr("not partitioned"));
}

}  // namespace
}  // namespace hocket
