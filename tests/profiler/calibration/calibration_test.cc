#include "profiler/calibration/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/plan/server_assignment.h"
#include "tests/core/sim/random_placed_steps.h"
#include "tests/profiler/simulated_trace.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

SimulationOptions with_parts(std::int64_t partition_bytes, std::int64_t iterations = 8) {
  SimulationOptions options;
  options.config.partition_bytes = partition_bytes;
  options.config.order = CollectiveOrder::negotiated;
  options.iterations = iterations;
  return options;
}

StepDescription random_step(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  StepDescription step;
  step.layers.resize(3 + random() % 10);
  for (std::size_t i = 0; i < step.layers.size(); ++i) {
    step.layers[i] = {"layer", (1 + below(2000)) * 640, 10'000 + below(2'000'000),
                      10'000 + below(3'000'000)};
  }
  step.collective = {static_cast<double>(below(100'000)), static_cast<double>(1 + below(4)), 0};
  return step;
}

Result<Calibration> calibrate_one(const SimulatedTrace& simulated) {
  const ClockFit fit;
  return calibrate(simulated.structure, {&simulated.trace, 1}, {&fit, 1});
}

double iteration_ns(const StepDescription& step, const SimulationOptions& options) {
  return static_cast<double>(simulate(step, options).value().iteration_ns);
}

TEST(Calibration, PredictsOtherConfigurationsOfWhatItSaw) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const StepDescription step = random_step(seed);
    const auto calibration = calibrate_one(simulated_trace(step, with_parts(1 << 17)));
    ASSERT_TRUE(calibration) << calibration.error().message;
    for (const std::int64_t parts : {1 << 15, 1 << 17, 1 << 20}) {
      const double truth = iteration_ns(step, with_parts(parts));
      EXPECT_NEAR(iteration_ns(calibration->step, with_parts(parts)) / truth, 1, 0.03) << parts;
    }
    EXPECT_NEAR(calibration->measured_iteration_ns / iteration_ns(step, with_parts(1 << 17)), 1,
                0.01);
  }
}

TEST(Calibration, CountsPartsThatSharedTheLinkForTheirShare) {
  StepDescription step;
  step.layers = {{"a", 1 << 22, 1000, 1'000'000}, {"b", 1 << 22, 1000, 1'000'000}};
  step.collective = {0, 1, 0};
  step.channel_split = 0;
  auto options = with_parts(1 << 18);
  options.config.comm_channels = 4;
  const auto calibration = calibrate_one(simulated_trace(step, options));
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_NEAR(calibration->step.collective.beta_ns_per_byte, 1, 0.02);
  EXPECT_EQ(calibration->least_part_bytes, 1 << 18);
  EXPECT_EQ(calibration->most_part_bytes, 1 << 18);
}

/// Simulates two compute tasks of a millisecond. A part runs beside the first in every second step,
/// and always beside the second.
SimulatedTrace now_and_then(double slowdown, double sigma, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  SimulatedTrace made;
  RankTrace& trace = made.trace;
  trace.names = {"first", "part", "second", "other part"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    StructureTask task;
    task.name = trace.names[i];
    if (i % 2 == 1) task.collective = CollectiveKind::all_reduce;
    task.bytes = i % 2 == 1 ? 100 : 0;
    task.accesses = {update(DataId{i})};
    made.structure.tasks.push_back(task);
  }
  std::int64_t now = 0;
  const auto run = [&](std::int64_t step, std::uint32_t task, std::int64_t begin_ns,
                       std::int64_t length_ns) {
    TraceRecord record;
    record.step = step;
    record.task = record.name = task;
    if (task % 2 == 1) {
      record.kind = TraceKind::communication;
      record.collective = CollectiveKind::all_reduce;
      record.bytes = 100;
    }
    record.begin_ns = begin_ns;
    record.end_ns = begin_ns + length_ns;
    trace.records.push_back(record);
    now = std::max(now, record.end_ns);
  };
  for (std::int64_t step = 0; step < 60; ++step) {
    trace.step_starts.push_back({step, now});
    for (const std::uint32_t task : {0u, 2u}) {
      const bool is_beside = task == 2 || step % 2 == 0;
      const double factor = (is_beside ? 1 + slowdown : 1) * std::exp(sigma * normal(random));
      const auto length_ns = std::llround(1e6 * factor);
      const std::int64_t begin_ns = now;
      run(step, task, begin_ns, length_ns);
      run(step, task + 1, is_beside ? begin_ns : now, length_ns);
    }
  }
  put_in_order(trace);
  return made;
}

TEST(Calibration, FindsTheSlowdownAndTheScatter) {
  for (const double slowdown : {0.0, 0.2, 0.5}) {
    for (const double sigma : {0.02, 0.1}) {
      const auto calibration = calibrate_one(now_and_then(slowdown, sigma, 7));
      ASSERT_TRUE(calibration) << calibration.error().message;
      const StepDescription& step = calibration->step;
      EXPECT_NEAR(step.compute_slowdown, slowdown, 3 * sigma / std::sqrt(10)) << sigma;
      EXPECT_NEAR(static_cast<double>(step.tasks[2].duration_ns), 1e6, 1e6 * sigma);
      if (slowdown > 0) continue;
      EXPECT_EQ(step.jitter.kind, JitterKind::lognormal);
      EXPECT_NEAR(step.jitter.scale, sigma, 0.4 * sigma);
    }
  }
}

TEST(Calibration, PredictsMoreRanksFromTheLinkThatItFound) {
  StepDescription step = random_step(3);
  step.ranks = 4;
  step.ranks_per_host = 4;
  step.cluster = Cluster{{1.25e9, 20'000}, {1.25e9, 20'000}, CollectiveAlgorithm::ring};
  const auto calibration = calibrate_one(simulated_trace(step, with_parts(1 << 17)));
  ASSERT_TRUE(calibration) << calibration.error().message;
  ASSERT_TRUE(calibration->host_link);
  EXPECT_NEAR(calibration->host_link->bytes_per_second, 1.25e9, 0.1e9);
  StepDescription larger = calibration->step;
  larger.cluster =
      Cluster{*calibration->host_link, *calibration->host_link, CollectiveAlgorithm::ring};
  larger.ranks = larger.ranks_per_host = step.ranks = step.ranks_per_host = 16;
  const double truth = iteration_ns(step, with_parts(1 << 17));
  EXPECT_NEAR(iteration_ns(larger, with_parts(1 << 17)) / truth, 1, 0.1);
}

TEST(Calibration, KnowsTheSlowRank) {
  StepDescription step = random_step(5);
  step.ranks = 2;
  step.rank_compute_scale = {1, 1.4};
  const SimulatedTrace zero = simulated_trace(step, with_parts(1 << 17), 0),
                       one = simulated_trace(step, with_parts(1 << 17), 1);
  const std::vector<RankTrace> traces = {one.trace, zero.trace};
  const std::vector<ClockFit> fits(2);
  const auto calibration = calibrate(zero.structure, traces, fits);
  ASSERT_TRUE(calibration) << calibration.error().message;
  ASSERT_EQ(calibration->step.rank_compute_scale.size(), 2u);
  EXPECT_NEAR(calibration->step.rank_compute_scale[1], 1.4, 0.01);
}

/// A step of ranks with servers; what a part costs is known only by what follows it.
StepDescription random_served_step(std::uint64_t seed) {
  StepDescription step = random_step(seed);
  std::mt19937_64 random(~seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  step.collective = {};
  step.ranks = 1 + below(6);
  StepServers& servers = step.servers.emplace();
  servers.servers = 1 + below(4);
  const auto link = [&] {
    return LinkSpec{static_cast<double>(1 + below(20)) * 2e8, below(40'000)};
  };
  servers.rank_link = link();
  servers.server_link = link();
  servers.alpha_ns = static_cast<double>(below(50'000));
  servers.overhead_bytes = static_cast<double>(below(2000));
  return step;
}

SimulationOptions served_with_parts(std::int64_t partition_bytes, int comm_channels = 1) {
  SimulationOptions options = with_parts(partition_bytes);
  options.config.communication = Communication::parameter_server;
  options.config.comm_channels = comm_channels;
  return options;
}

TEST(Calibration, PredictsSumsOverTheServersThatItSaw) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const StepDescription step = random_served_step(seed);
    const auto calibration = calibrate_one(simulated_trace(step, served_with_parts(1 << 17)));
    ASSERT_TRUE(calibration) << calibration.error().message;
    ASSERT_TRUE(calibration->step.servers);
    EXPECT_EQ(calibration->step.servers->servers, step.servers->servers);
    EXPECT_EQ(calibration->step.ranks, step.ranks);
    for (const std::int64_t parts : {1 << 15, 1 << 17, 1 << 20}) {
      const double truth = iteration_ns(step, served_with_parts(parts));
      EXPECT_NEAR(iteration_ns(calibration->step, served_with_parts(parts)) / truth, 1, 0.03)
          << parts;
    }
  }
}

TEST(Calibration, CountsPartsBesideOthersOnTheWayToServers) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    StepDescription step = random_served_step(seed);
    // Parts of smaller tensors share the link of one server, which a trace does not show.
    for (StepLayer& layer : step.layers)
      layer.parameter_bytes = std::max(layer.parameter_bytes, kDividedCollectiveBytes);
    for (const int channels : {2, 4}) {
      const auto options = served_with_parts(1 << 17, channels);
      const auto calibration = calibrate_one(simulated_trace(step, options));
      ASSERT_TRUE(calibration) << calibration.error().message;
      const double ratio = iteration_ns(calibration->step, options) / iteration_ns(step, options);
      EXPECT_NEAR(ratio, 1, 0.15) << channels;
    }
  }
}

TEST(Calibration, SaysWhatOfServersAProfileDidNotShow) {
  const StepDescription step = random_served_step(1);
  const auto notes_of = [](const SimulatedTrace& simulated) {
    const auto calibration = calibrate_one(simulated).value();
    std::string notes;
    for (const std::string& note : calibration.notes) notes += note + "\n";
    return notes;
  };
  auto served = simulated_trace(step, served_with_parts(1 << 17));
  EXPECT_THAT(notes_of(served), HasSubstr("all_reduce cannot be predicted"));
  const auto unknown = simulate(calibrate_one(served).value().step, with_parts(1 << 17));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("only says what sums over parameter servers"));
  served.structure.servers = 0;
  EXPECT_THAT(notes_of(served), HasSubstr("taken to be one"));

  StepDescription both = step;
  both.collective = {10'000, 1, 0};
  const auto reduced = simulated_trace(both, with_parts(1 << 17));
  EXPECT_THAT(notes_of(reduced), HasSubstr("nothing went over the job's parameter servers"));
  EXPECT_FALSE(calibrate_one(reduced).value().step.servers);
}

TEST(Calibration, RefusesWhatItCannotUse) {
  const ClockFit fit;
  EXPECT_THAT(calibrate({}, {}, {}).error().message, HasSubstr("no traces"));

  auto simulated = simulated_trace(random_step(1), with_parts(1 << 17));
  auto no_step = simulated;
  no_step.trace.step_starts.clear();
  EXPECT_THAT(calibrate_one(no_step).error().message, HasSubstr("no step is whole"));

  auto foreign = simulated;
  foreign.trace.records.back().task = 1'000'000;
  foreign.trace.records.back().step = foreign.trace.step_starts[1].step;
  EXPECT_THAT(calibrate_one(foreign).error().message, HasSubstr("of task 1000000"));

  auto other_job = simulated;
  other_job.trace.ranks = 5;
  other_job.trace.rank = 9;
  EXPECT_THAT(calibrate_one(other_job).error().message, HasSubstr("rank 9 of 5"));
}

/// A model of layers on a device that holds some of them.
StepDescription placed_model() {
  std::mt19937_64 random(7);
  StepDescription step = described(step_of({.layers = 6,
                                            .parameter_bytes = 64 << 10,
                                            .state_bytes = 128 << 10,
                                            .activation_bytes = 16 << 10}),
                                   random, false);
  for (StepTask& task : step.tasks) {
    task.duration_ns = 20'000 + static_cast<std::int64_t>(random() % 50'000);
    if (task.place.updates_layer != kNoLayer) task.host_duration_ns = 3 * task.duration_ns;
  }
  // Copies of different sizes tell what a copy costs from what its bytes cost.
  for (std::size_t i = 0; i < step.data_places.size(); ++i)
    step.data_places[i].bytes *= 1 + static_cast<std::int64_t>(i % 3);
  step.to_device = {2000, 0.4, 0};
  step.to_host = {3000, 0.3, 0};
  return step;
}

TEST(Calibration, OfAPlacedStepPredictsOtherNumbersOfLayers) {
  const StepDescription step = placed_model();
  SimulationOptions options;
  options.config.offload_k = 2;
  const auto calibration = calibrate_one(simulated_trace(step, options));
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_EQ(calibration->step.device_memory_bytes, step.device_memory_bytes);
  EXPECT_EQ(calibration->step.data_places, step.data_places);
  EXPECT_NEAR(calibration->step.to_device.beta_ns_per_byte, 0.4, 0.01);
  EXPECT_NEAR(calibration->step.to_host.alpha_ns, 3000, 100);
  for (const std::int64_t offload_k : {0, 1, 2, 4, 6}) {
    options.config.offload_k = offload_k;
    const auto truth = simulate(step, options).value(),
               found = simulate(calibration->step, options).value();
    EXPECT_NEAR(static_cast<double>(found.iteration_ns) / static_cast<double>(truth.iteration_ns),
                1, offload_k == 2 ? 0.002 : 0.1)
        << offload_k;
    EXPECT_EQ(found.device_peak_bytes, truth.device_peak_bytes);
    EXPECT_NEAR(static_cast<double>(found.to_device_ns), static_cast<double>(truth.to_device_ns),
                1000);
  }
}

TEST(Calibration, SaysWhatAPlacedStepDidNotShow) {
  const auto notes_at = [](std::int64_t offload_k) {
    SimulationOptions options;
    options.config.offload_k = offload_k;
    const auto calibration = calibrate_one(simulated_trace(placed_model(), options));
    if (!calibration) return calibration.error().message;
    std::string notes;
    for (const std::string& note : calibration->notes) notes += note + "\n";
    return notes;
  };
  EXPECT_THAT(notes_at(2), Not(HasSubstr("copied to the")));
  EXPECT_THAT(notes_at(2), Not(HasSubstr("all updates")));
  EXPECT_THAT(notes_at(0), HasSubstr("all updates ran on the host"));
  EXPECT_THAT(notes_at(6), HasSubstr("nothing was copied to the device"));
  EXPECT_THAT(notes_at(6), HasSubstr("nothing was copied to the host"));
  EXPECT_THAT(notes_at(6), HasSubstr("all updates ran on the device"));
}

TEST(Calibration, AStructureOfOtherTasksThanWereSubmittedIsRefused) {
  auto simulated = simulated_trace(placed_model(), {});
  simulated.structure.placed_from->tasks.pop_back();
  EXPECT_THAT(calibrate_one(simulated).error().message, HasSubstr("placed from"));
}

}  // namespace
}  // namespace hocket
