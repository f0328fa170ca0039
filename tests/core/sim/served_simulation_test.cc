// Simulations of sums over parameter servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/plan/plan_observer.h"
#include "core/sim/simulator.h"
#include "core/sim/step_bound.h"
#include "tests/core/sim/random_steps.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr double kBytesPerSecond = 1e9;  // a byte a nanosecond

StepServers servers_of(std::int64_t count) {
  return {.servers = count, .rank_link = {kBytesPerSecond, 0}, .server_link = {kBytesPerSecond, 0}};
}

StepDescription served_layer(std::int64_t bytes, std::int64_t ranks, std::int64_t servers) {
  StepDescription step;
  step.layers = {{"layer", bytes, 1000, 2000}};
  step.ranks = ranks;
  step.servers = servers_of(servers);
  return step;
}

ScheduleConfig served_config(std::int64_t partition_bytes, std::int64_t credit_bytes = 1 << 30) {
  return {.partition_bytes = partition_bytes,
          .credit_bytes = credit_bytes,
          .order = CollectiveOrder::negotiated,
          .communication = Communication::parameter_server};
}

Simulation simulated_over_servers(const StepDescription& step, const ScheduleConfig& config,
                                  PlanObserver* observer = nullptr, TraceSink* trace = nullptr) {
  SimulationOptions options;
  options.config = config;
  options.observer = observer;
  options.trace = trace;
  auto result = simulate(step, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Simulation{};
}

TEST(ServedSimulation, RanksShareTheLinkOfTheirServer) {
  // Divided among the servers, unlike a small layer.
  constexpr std::int64_t bytes = 1'280'000, small_bytes = 640'000;
  for (const std::int64_t ranks : {1, 2, 5}) {
    EXPECT_EQ(simulated_over_servers(served_layer(small_bytes, ranks, 2), served_config(1 << 20))
                  .iteration_ns,
              3000 + 2 * ranks * small_bytes);
    EXPECT_EQ(
        simulated_over_servers(served_layer(bytes, ranks, 1), served_config(1 << 21)).iteration_ns,
        3000 + 2 * ranks * bytes)
        << "all push, then all pull";
    // Half of it is on each server. A rank's own link is as fast as a server's.
    ScheduleConfig config = served_config(bytes / 2);
    config.comm_channels = 2;
    EXPECT_EQ(simulated_over_servers(served_layer(bytes, ranks, 2), config).iteration_ns,
              3000 + std::max<std::int64_t>(2, ranks) * bytes)
        << ranks;
    // With a part at a time all ranks push to one server, and the other one is idle.
    config.comm_channels = 1;
    EXPECT_EQ(simulated_over_servers(served_layer(bytes, ranks, 2), config).iteration_ns,
              3000 + 3 * ranks * bytes / 2)
        << ranks;
  }
}

TEST(ServedSimulation, OnePartIsPushedWhileAnotherIsPulled) {
  constexpr std::int64_t bytes = 640'000;
  for (const std::int64_t parts : {1, 2, 10}) {
    const auto result =
        simulated_over_servers(served_layer(bytes, 1, 1), served_config(bytes / parts));
    EXPECT_EQ(result.iteration_ns, 3000 + bytes + bytes / parts) << parts;
    EXPECT_GE(result.iteration_ns, result.bound_ns);
  }
  // A window of one part each way keeps both ways busy; both at once, and alpha, do not overlap.
  StepDescription step = served_layer(bytes, 1, 1);
  EXPECT_EQ(simulated_over_servers(step, served_config(64'000, 64'000)).iteration_ns,
            3000 + bytes + 64'000);
  step.servers->alpha_ns = 500;
  EXPECT_EQ(simulated_over_servers(step, served_config(64'000)).iteration_ns,
            3000 + bytes + 64'000 + 11 * 500);
  step.servers->alpha_ns = 0;
  step.servers->overhead_bytes = 500;
  EXPECT_EQ(simulated_over_servers(step, served_config(64'000)).iteration_ns,
            3000 + bytes + 64'000 + 11 * 500);
  step.servers->overhead_bytes = 0;
  step.servers->rank_link.latency_ns = 100;
  step.servers->server_link.latency_ns = 25;
  EXPECT_EQ(simulated_over_servers(step, served_config(bytes)).iteration_ns,
            3000 + 2 * bytes + 4 * 125);
}

TEST(ServedSimulation, AServerOnARanksHostSharesItsLink) {
  constexpr std::int64_t bytes = 1'280'000;
  StepDescription step = served_layer(bytes, 2, 2);
  step.servers->colocated = true;
  // Each rank keeps half to itself; the other half crosses both links both ways: first as pushes,
  // then as pulls.
  EXPECT_EQ(simulated_over_servers(step, served_config(bytes / 2)).iteration_ns, 3000 + bytes);
  step.servers->servers = 1;
  EXPECT_EQ(simulated_over_servers(step, served_config(bytes)).iteration_ns, 3000 + 2 * bytes)
      << "rank 1 alone has a way";
  step.ranks = 1;
  EXPECT_EQ(simulated_over_servers(step, served_config(bytes)).iteration_ns, 3000);
}

TEST(ServedSimulation, ServersWaitForTheSlowestRank) {
  constexpr std::int64_t bytes = 2'048'000;
  StepDescription step = served_layer(bytes, 2, 2);
  step.rank_compute_scale = {1, 10};
  ScheduleConfig config = served_config(32'000);
  config.comm_channels = 2;
  const auto result = simulated_over_servers(step, config);
  EXPECT_GE(result.iteration_ns, 30'000 + bytes);
  EXPECT_LE(result.iteration_ns, 30'000 + 2 * bytes);
}

TEST(ServedSimulation, AlikeRanksAreSimulatedAsOne) {
  for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StepDescription step = random_chain(random);
    step.ranks = 2 + static_cast<std::int64_t>(random() % 3);
    step.servers = servers_of(1 + static_cast<std::int64_t>(random() % 3));
    const ScheduleConfig config = served_config(std::int64_t{65'536} << random() % 6);
    const auto folded = simulated_over_servers(step, config);
    EXPECT_EQ(folded.simulated_ranks, 1);
    // Jitter of no size makes every rank one of its own.
    step.jitter = {JitterKind::uniform, 0, 1};
    const auto each = simulated_over_servers(step, config);
    EXPECT_EQ(each.simulated_ranks, step.ranks);
    EXPECT_NEAR(static_cast<double>(each.iteration_ns), static_cast<double>(folded.iteration_ns),
                1e-3 * static_cast<double>(folded.iteration_ns) + 10);
  }
}

/// Checks the decisions of a rank's plan by brute force.
class ServedLaws final : public PlanObserver {
 public:
  explicit ServedLaws(const ScheduleConfig& config)
      : push_credit_(config.credit_bytes),
        pull_credit_(config.pull_credit_bytes > 0 ? config.pull_credit_bytes : config.credit_bytes),
        by_priority_(config.order != CollectiveOrder::fifo) {}

  void launched(const CapturedStep& step, TaskId first) override {
    for (std::uint32_t i = 0; i < step.size(); ++i) {
      const CapturedStep::Task& task = step.task(i);
      tasks_[packed(step.id_of(i, first))] = {
          .priority = task.priority, .bytes = task.bytes, .is_collective = task.is_collective};
    }
  }
  void ready(TaskId id) override {
    if (tasks_.at(packed(id)).is_collective) ready_.insert(packed(id));
  }
  void started_part(TaskId id, std::int64_t offset_bytes, std::int64_t bytes) override {
    Task& task = tasks_.at(packed(id));
    const auto next = task.part_ends.lower_bound(offset_bytes);
    ASSERT_TRUE(next == task.part_ends.end() || next->first >= offset_bytes + bytes);
    ASSERT_TRUE(next == task.part_ends.begin() || std::prev(next)->second <= offset_bytes)
        << "each byte starts once";
    task.part_ends[offset_bytes] = offset_bytes + bytes;
    task.started_bytes += bytes;
    for (const std::uint64_t other : ready_)
      ASSERT_TRUE(!by_priority_ || task.priority <= tasks_.at(other).priority);
    if (task.started_bytes == task.bytes) ready_.erase(packed(id));
    push_bytes_ += bytes;
    ASSERT_TRUE(push_bytes_ <= push_credit_ || ++pushes_ == 1 || push_bytes_ == bytes);
  }
  void finished_push(TaskId id, std::int64_t offset_bytes, std::int64_t bytes) override {
    push_bytes_ -= bytes;
    acknowledged_.insert({packed(id), offset_bytes});
  }
  void summed(TaskId id, std::int64_t offset_bytes, std::int64_t) override {
    ASSERT_EQ(acknowledged_.erase({packed(id), offset_bytes}), 1U);
    pushed_.insert({packed(id), offset_bytes});
  }
  void started_pull(TaskId id, std::int64_t offset_bytes, std::int64_t bytes) override {
    ASSERT_EQ(pushed_.erase({packed(id), offset_bytes}), 1U) << "pulled once, after its sum";
    for (const auto& [other, offset] : pushed_)
      ASSERT_TRUE(!by_priority_ || tasks_.at(packed(id)).priority <= tasks_.at(other).priority);
    pull_bytes_ += bytes;
    ASSERT_TRUE(pull_bytes_ <= pull_credit_ || pull_bytes_ == bytes);
  }
  void finished_pull(TaskId id, std::int64_t bytes) override {
    pull_bytes_ -= bytes;
    tasks_.at(packed(id)).pulled_bytes += bytes;
    pulls += 1;
  }
  void finished_part(TaskId, std::int64_t) override { FAIL() << "parts are pushed and pulled"; }

  std::int64_t pulls = 0;

 private:
  struct Task {
    std::uint32_t priority = 0;
    std::int64_t bytes = 0, started_bytes = 0, pulled_bytes = 0;
    std::map<std::int64_t, std::int64_t> part_ends = {};  ///< by begin
    bool is_collective = false;
  };

  const std::int64_t push_credit_, pull_credit_;
  const bool by_priority_;
  std::map<std::uint64_t, Task> tasks_;
  std::set<std::uint64_t> ready_;
  std::set<std::pair<std::uint64_t, std::int64_t>> acknowledged_, pushed_;
  std::int64_t push_bytes_ = 0, pull_bytes_ = 0, pushes_ = 0;
};

TEST(ServedSimulation, RandomSchedulesKeepOrderAndCreditEachWay) {
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StepDescription step = seed % 2 ? random_chain(random) : random_graph(random);
    for (StepTask& task : step.tasks) {
      if (!task.collective) continue;
      task.collective = CollectiveKind::all_reduce;
      task.bytes += 1;
    }
    step.ranks = 1 + static_cast<std::int64_t>(random() % 4);
    step.servers = servers_of(1 + static_cast<std::int64_t>(random() % 4));
    step.servers->colocated = random() % 2;
    step.servers->alpha_ns = static_cast<double>(random() % 3000);
    step.servers->rank_link.latency_ns = static_cast<std::int64_t>(random() % 3000);
    step.servers->server_link.bytes_per_second = 1e9 * static_cast<double>(1 + random() % 4);
    for (std::int64_t rank = 0; random() % 2 == 0 && rank < step.ranks; ++rank)
      step.rank_compute_scale.push_back(1 + static_cast<double>(random() % 3));
    if (!step.rank_compute_scale.empty()) step.rank_compute_scale.resize(step.ranks, 1);
    ScheduleConfig config = served_config(std::int64_t{32'768} << random() % 4);
    config.credit_bytes = std::int64_t{4096} << random() % 8;
    config.pull_credit_bytes = random() % 2 ? 0 : std::int64_t{4096} << random() % 8;
    config.streams = 1 + static_cast<int>(random() % 2);
    config.comm_channels = 1 + static_cast<int>(random() % 4);
    config.order = static_cast<CollectiveOrder>(random() % 3);
    ServedLaws laws(config);
    const auto result = simulated_over_servers(step, config, &laws);
    ASSERT_FALSE(HasFailure());
    ASSERT_GE(laws.pulls, static_cast<std::int64_t>(result.iterations_ns.size()) * result.parts);
    // The parts of two steps that share a link can drift for a while, so the bound holds over many
    // iterations, and for the period nearly.
    const auto iterations = static_cast<std::int64_t>(result.iterations_ns.size());
    ASSERT_GE(
        std::accumulate(result.iterations_ns.begin(), result.iterations_ns.end(), 4 * iterations),
        (iterations - 1) * result.bound_ns);
    ASSERT_GE(static_cast<double>(result.iteration_ns) * 1.05 + 4,
              static_cast<double>(result.bound_ns));
  }
}

/// Keeps what a rank's trace says of communication.
class Ways final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    if (event.kind != TraceKind::communication) return;
    ++parts[event.collective];
    EXPECT_EQ(event.lane >= 2, event.collective == CollectiveKind::pull);
    auto& end_ns = lane_end_ns[event.lane];
    EXPECT_GE(event.begin_ns, end_ns) << "a channel has one part at a time";
    end_ns = event.end_ns;
  }
  std::map<CollectiveKind, std::int64_t> parts;
  std::map<std::int32_t, std::int64_t> lane_end_ns;
};

TEST(ServedSimulation, ItsTraceHasBothWays) {
  ScheduleConfig config = served_config(64'000);
  config.comm_channels = 2;
  Ways ways;
  const auto result = simulated_over_servers(served_layer(640'000, 2, 2), config, nullptr, &ways);
  EXPECT_EQ(result.parts, 10);
  EXPECT_EQ(ways.parts[CollectiveKind::push], ways.parts[CollectiveKind::pull]);
  EXPECT_GE(ways.parts[CollectiveKind::push], 20);
}

TEST(ServedSimulation, WhatServersCannotDoIsRefusedByName) {
  const auto refused = [](const StepDescription& step, const ScheduleConfig& config) {
    SimulationOptions options;
    options.config = config;
    const auto result = simulate(step, options);
    return result ? std::string("done") : result.error().message;
  };
  StepDescription step = served_layer(640'000, 2, 2);
  ScheduleConfig config = served_config(64'000);
  EXPECT_EQ(refused(step, config), "done");
  config.bucket_bytes = 1 << 20;
  EXPECT_THAT(refused(step, config), HasSubstr("partitioned"));
  step.servers.reset();
  EXPECT_THAT(refused(step, served_config(64'000)), HasSubstr("\"parameter_servers\""));
  step = expand(served_layer(640'000, 2, 2));
  step.tasks.back().collective = CollectiveKind::all_gather;
  EXPECT_THAT(refused(step, served_config(64'000)), HasSubstr("is all-gather of world"));
}

}  // namespace
}  // namespace hocket
