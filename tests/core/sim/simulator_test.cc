#include "core/sim/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/collective/part_sizes.h"
#include "tests/core/sim/random_steps.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

ScheduleConfig schedule(std::int64_t partition_bytes, std::int64_t credit_bytes,
                        CollectiveOrder order = CollectiveOrder::negotiated) {
  ScheduleConfig config;
  config.partition_bytes = partition_bytes;
  config.credit_bytes = credit_bytes;
  config.order = order;
  return config;
}

Simulation simulated(const StepDescription& step, const ScheduleConfig& config) {
  SimulationOptions options;
  options.config = config;
  auto result = simulate(step, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Simulation{};
}

/// Returns one layer of 8,192 B, 1,000 ns forward and 2,000 ns backward, at 1 ns per byte.
StepDescription one_layer(const PartCost& collective) {
  StepDescription step;
  step.layers = {{"layer", 8192, 1000, 2000}};
  step.collective = collective;
  return step;
}

class Events final : public TraceSink {
 public:
  void record(const TraceEvent& event) override { events.push_back(event); }
  std::vector<TraceEvent> events;
};

TEST(Simulator, APartHoldsTheChannelForAlphaAndItsBytesAndIsDoneALatencyLater) {
  const auto step = one_layer({100, 1, 50});
  EXPECT_EQ(simulated(step, schedule(8192, 8192)).iteration_ns, 3000 + 100 + 8192 + 50);
  // Two parts, both in the window: the second begins when the first leaves the channel.
  EXPECT_EQ(simulated(step, schedule(4096, 8192)).iteration_ns, 3000 + 2 * (100 + 4096) + 50);
  // A window of one part: the second begins when the credit of the first is returned.
  EXPECT_EQ(simulated(step, schedule(4096, 4096)).iteration_ns, 3000 + 2 * (100 + 4096 + 50));
}

TEST(Simulator, SeveralChannelsHideOverheadAndShareTheBandwidth) {
  const auto step = one_layer({100, 1, 0});
  auto config = schedule(4096, 8192);
  config.comm_channels = 2;
  EXPECT_EQ(simulated(step, config).iteration_ns, 3000 + 100 + 8192);
}

TEST(Simulator, AChannelsShareIsItsOwnAsFarAsTheBandwidthIsSplit) {
  auto step = one_layer({100, 1, 0});
  auto config = schedule(8192, 8192);  // one part: the other channels stay idle
  config.comm_channels = 4;
  EXPECT_EQ(simulated(step, config).iteration_ns, 3000 + 100 + 4 * 8192);
  step.channel_split = 0;
  EXPECT_EQ(simulated(step, config).iteration_ns, 3000 + 100 + 8192);
  step.channel_split = 0.5;
  EXPECT_EQ(simulated(step, config).iteration_ns, 3000 + 100 + 20'480);
}

TEST(Simulator, ComputationSlowsWhileAPartIsInFlight) {
  // The backward pass of the first layer, 10,000 ns, overlaps 4,096 ns of communication of the
  // second layer, during which it completes 4,096 / 1.25 ns of its work.
  StepDescription step;
  step.layers = {{"first", 0, 1000, 10'000}, {"second", 4096, 1000, 1000}};
  step.collective = {0, 1, 0};
  step.compute_slowdown = 0.25;
  const auto result = simulated(step, schedule(4096, 4096));
  EXPECT_EQ(result.iteration_ns, 13'000 + 819);
  EXPECT_EQ(result.exposed_ns, 0);
  EXPECT_EQ(result.communication_ns, 4096);
  EXPECT_EQ(result.compute_ns, result.iteration_ns);
}

TEST(Simulator, FurtherChannelsAndBytesInFlightSlowComputationMore) {
  // The second layer's parts are in flight during the whole backward pass of the first layer.
  StepDescription step;
  step.layers = {{"first", 0, 1000, 10'000}, {"second", 40'960, 1000, 1000}};
  step.collective = {0, 1, 0};
  auto config = schedule(20'480, 40'960);
  config.comm_channels = 2;
  const auto backward_ns = [&] {
    std::int64_t longest_ns = 0;
    Events trace;
    EXPECT_TRUE(simulate(step, {.config = config, .trace = &trace}));
    for (const TraceEvent& event : trace.events)
      if (event.kind == TraceKind::compute)
        longest_ns = std::max(longest_ns, event.end_ns - event.begin_ns);
    return longest_ns;
  };
  EXPECT_EQ(backward_ns(), 10'000);
  step.compute_slowdown_per_channel = 0.5;
  EXPECT_EQ(backward_ns(), 15'000) << "one channel more than one";
  step.compute_slowdown_per_byte = 1.0 / 40'960;
  EXPECT_EQ(backward_ns(), 25'000);
  config.credit_bytes = 20'480;
  EXPECT_EQ(backward_ns(), 15'000) << "one part in flight, on one channel";
}

TEST(Simulator, TheMostUrgentPartOvertakes) {
  // The last layer's gradient is ready first and needed last.
  StepDescription step;
  step.layers = {{"first", 4096, 1000, 1000}, {"last", 409'600, 100'000, 1000}};
  step.collective = {0, 1, 0};
  const auto fifo = simulated(step, schedule(4096, 4096, CollectiveOrder::fifo));
  const auto urgent = simulated(step, schedule(4096, 4096));
  EXPECT_EQ(fifo.iteration_ns, 409'600 + 4096 + 1000 + 100'000 + 1000);
  EXPECT_EQ(urgent.iteration_ns, 409'600 + 4096 + 100'000 + 1000)
      << "the first layer's forward runs beside the rest";
}

// ByteScheduler (SOSP 2019, section 4.1): with parts of d bytes the period exceeds the optimum by
// at most one part's time.
TEST(Simulator, WithoutOverheadThePeriodIsWithinAPartOfTheBound) {
  for (std::uint64_t seed = 0; seed < rounds(10'000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto step = random_chain(random);
    const std::int64_t d = 4096 << random() % 6;
    const auto result = simulated(step, schedule(d, d));
    ASSERT_GE(result.iteration_ns, result.bound_ns);
    ASSERT_LE(static_cast<double>(result.iteration_ns - result.bound_ns),
              static_cast<double>(d) * step.collective.beta_ns_per_byte);
  }
}

TEST(Simulator, ACreditWindowAndOverheadCostAtMostTheirShare) {
  for (std::uint64_t seed = 0; seed < rounds(3000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto step = random_chain(random);
    const std::int64_t d = 4096 << random() % 6, c = d << random() % 4;
    step.collective.alpha_ns = static_cast<double>(random() % 2000);
    const auto result = simulated(step, schedule(d, c));
    ASSERT_GE(result.iteration_ns, result.bound_ns);
    ASSERT_LE(static_cast<double>(result.iteration_ns - result.bound_ns),
              static_cast<double>(c + d) * step.collective.beta_ns_per_byte +
                  step.collective.alpha_ns * static_cast<double>(result.parts));
  }
}

/// Checks a run's decisions against the step, by brute force.
class LawObserver final : public PlanObserver {
 public:
  explicit LawObserver(std::int64_t credit_bytes) : credit_bytes_(credit_bytes) {}

  void configured(const PlanOptions&) override { FAIL() << "options stay"; }
  void submitted(const SubmittedTask&) override { FAIL() << "steps are launched"; }
  void launched(const CapturedStep& step, TaskId first) override {
    for (std::uint32_t i = 0; i < step.size(); ++i) {
      Task task{&step.task(i), false, false, 0, 0};
      const TaskId id = step.id_of(i, first);
      number_of_[{id.slot, id.generation}] = tasks_.size();
      tasks_.push_back(task);
    }
  }
  void announced(std::span<const std::uint64_t>) override {}
  void ready(TaskId) override {}
  void started(TaskId id) override {
    Task& task = of(id);
    ASSERT_FALSE(task.started) << "a task started twice";
    begin(task);
  }
  void started_part(TaskId id, std::int64_t offset_bytes, std::int64_t bytes) override {
    Task& task = of(id);
    ASSERT_EQ(offset_bytes, task.started_bytes) << "a part started twice or was left out";
    if (!task.started) begin(task);
    task.started_bytes += bytes;
    in_flight_ += bytes;
    ++parts_;
    ASSERT_TRUE(in_flight_ <= credit_bytes_ || parts_ == 1) << "the window is exceeded";
  }
  void finished(TaskId id) override { of(id).finished = true; }
  void finished_part(TaskId id, std::int64_t bytes) override {
    Task& task = of(id);
    task.finished_bytes += bytes;
    task.finished = task.finished_bytes == task.what->bytes;
    in_flight_ -= bytes;
    --parts_;
  }

  std::size_t launched_tasks() const { return tasks_.size(); }
  std::size_t finished_tasks() const {
    return static_cast<std::size_t>(
        std::count_if(tasks_.begin(), tasks_.end(), [](const Task& t) { return t.finished; }));
  }

 private:
  struct Task {
    const CapturedStep::Task* what;
    bool started, finished;
    std::int64_t started_bytes, finished_bytes;
  };

  Task& of(TaskId id) { return tasks_[number_of_.at({id.slot, id.generation})]; }

  /// Every earlier task that this one conflicts with must be finished.
  void begin(Task& task) {
    task.started = true;
    for (const Task* earlier = tasks_.data(); earlier != &task; ++earlier) {
      for (const Access& a : earlier->what->accesses) {
        for (const Access& b : task.what->accesses) {
          const bool conflict =
              a.data == b.data && (a.mode != AccessMode::read || b.mode != AccessMode::read);
          ASSERT_TRUE(!conflict || earlier->finished)
              << task.what->name << " overtook " << earlier->what->name;
        }
      }
    }
  }

  const std::int64_t credit_bytes_;
  std::vector<Task> tasks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> number_of_;
  std::int64_t in_flight_ = 0, parts_ = 0;
};

TEST(Simulator, RandomGraphsKeepTheOrderOfConflictsTheWindowAndEveryTask) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto step = random_graph(random);
    SimulationOptions options;
    options.config = schedule(4096 << random() % 5, 4096 << random() % 6,
                              static_cast<CollectiveOrder>(random() % 3));
    options.config.streams = 1 + static_cast<int>(random() % 3);
    options.config.comm_channels = 1 + static_cast<int>(random() % 3);
    LawObserver laws(options.config.credit_bytes);
    options.observer = &laws;
    const auto result = simulate(step, options);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_FALSE(HasFailure());
    ASSERT_GE(laws.finished_tasks(), result->iterations_ns.size() * step.tasks.size());
    // A period that does not settle is a mean that includes the ends of its window.
    const double tolerance = result->iterations_ns.size() < 64 ? 1 : 1.01;
    ASSERT_GE(static_cast<double>(result->iteration_ns) * tolerance + 4,
              static_cast<double>(result->bound_ns));
  }
}

TEST(Simulator, PerturbedRanksNeitherDeadlockNorDisagreeUnderAnyOrder) {
  // The run itself checks that every rank starts the same parts in the same order.
  for (std::uint64_t seed = 0; seed < rounds(3000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto step = seed % 2 ? random_graph(random) : random_chain(random);
    step.ranks = 2 + static_cast<std::int64_t>(random() % 4);
    step.jitter = {seed % 3 ? JitterKind::exponential : JitterKind::lognormal, 1.5, seed};
    step.cluster = Cluster{{1.25e9, 1000},
                           {1.25e8, static_cast<std::int64_t>(random() % 50'000)},
                           CollectiveAlgorithm::automatic};
    SimulationOptions options;
    options.config = schedule(4096 << random() % 7, 4096 << random() % 8,
                              static_cast<CollectiveOrder>(seed % 3));
    options.config.comm_channels = 1 + static_cast<int>(random() % 3);
    options.iterations = 5;
    const auto result = simulate(step, options);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->simulated_ranks, step.ranks);
    ASSERT_EQ(result->iterations_ns.size(), 5u);
  }
}

TEST(Simulator, FoldedRanksBehaveLikeRanksSimulatedOneByOne) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto folded = random_chain(random);
    folded.ranks = 5;
    folded.compute_slowdown = 0.1;
    auto unfolded = folded;
    unfolded.jitter = {JitterKind::uniform, 0, 1};
    SimulationOptions options;
    options.config = schedule(8192, 32'768);
    options.iterations = 6;
    const auto a = simulate(folded, options), b = simulate(unfolded, options);
    ASSERT_TRUE(a && b);
    ASSERT_EQ(a->simulated_ranks, 1);
    ASSERT_EQ(b->simulated_ranks, 5);
    ASSERT_EQ(a->iterations_ns, b->iterations_ns);
    ASSERT_EQ(a->part_order, b->part_order);
  }
}

TEST(Simulator, TheSlowestRankSetsThePace) {
  auto step = one_layer({0, 1, 0});
  step.ranks = 3;
  step.rank_compute_scale = {1, 2, 1};
  const auto result = simulated(step, schedule(8192, 8192));
  EXPECT_EQ(result.simulated_ranks, 2);
  EXPECT_EQ(result.iteration_ns, 6000 + 8192);
  EXPECT_EQ(result.compute_ns, (3000 + 6000 + 3000) / 3);
  EXPECT_EQ(result.bound_ns, 6000 + 8192);
}

TEST(Simulator, TheSameInputGivesTheSameResultAndAnotherSeedAnother) {
  std::mt19937_64 random(4);
  auto step = random_chain(random);
  step.ranks = 3;
  step.jitter = {JitterKind::normal, 0.2, 11};
  const auto config = schedule(8192, 32'768);
  const auto first = simulated(step, config);
  EXPECT_EQ(simulated(step, config).iterations_ns, first.iterations_ns);
  step.jitter.seed = 12;
  EXPECT_NE(simulated(step, config).iterations_ns, first.iterations_ns);
}

/// Returns an all-reduce inside hosts and an independent one between hosts, on 8 ranks.
StepDescription inside_and_between(std::int64_t inside_bytes, std::int64_t between_bytes) {
  StepDescription step;
  step.data = {"a", "b"};
  step.tasks.resize(2);
  step.tasks[0].collective = step.tasks[1].collective = CollectiveKind::all_reduce;
  step.tasks[0].bytes = inside_bytes;
  step.tasks[0].group = CollectiveGroup::inside;
  step.tasks[0].accesses = {update(DataId{0})};
  step.tasks[1].bytes = between_bytes;
  step.tasks[1].group = CollectiveGroup::between;
  step.tasks[1].accesses = {update(DataId{1})};
  step.ranks = 8;
  step.ranks_per_host = 4;
  step.collective = {0, 1, 0};
  step.channel_split = 0;
  return step;
}

TEST(Simulator, PartsInsideHostsAndBetweenThemDoNotShareBandwidth) {
  // 0.75 / 0.875 ns per byte inside, 4 · 0.5 / 0.875 between.
  const auto step = inside_and_between(87'500, 43'750);
  auto config = schedule(1 << 20, 1 << 20, CollectiveOrder::fifo);
  config.comm_channels = 2;
  const auto both = simulated(step, config);
  EXPECT_EQ(both.iteration_ns, 100'000) << "75,000 ns of the host's link are hidden";
  EXPECT_EQ(both.bound_ns, 100'000);
  auto network_alone = step;
  for (StepTask& task : network_alone.tasks) task.group = CollectiveGroup::between;
  EXPECT_EQ(simulated(network_alone, config).iteration_ns, 300'000);
  config.comm_channels = 1;
  EXPECT_EQ(simulated(step, config).iteration_ns, 175'000) << "channels are of both";
}

TEST(Simulator, AReduceScatterAndAnAllGatherTakeAsLongAsTheAllReduce) {
  StepDescription step;
  step.data = {"a"};
  step.tasks.resize(1);
  step.tasks[0].collective = CollectiveKind::all_reduce;
  step.tasks[0].bytes = 1'000'000;
  step.tasks[0].accesses = {update(DataId{0})};
  step.collective = {4000, 1, 2000};
  const auto config = schedule(1 << 20, 1 << 20);
  const auto whole = simulated(step, config);
  step.tasks.push_back(step.tasks[0]);
  step.tasks[0].collective = CollectiveKind::reduce_scatter;
  step.tasks[1].collective = CollectiveKind::all_gather;
  const auto halves = simulated(step, config);
  EXPECT_EQ(halves.iteration_ns, whole.iteration_ns);
  EXPECT_EQ(halves.bound_ns, whole.bound_ns);
}

TEST(Simulator, AStaticOrderIsAsFastAsTheOneItWasMadeFrom) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto step = random_chain(random);
    const auto config = schedule(16'384, 65'536);
    const auto negotiated = simulated(step, config);
    const auto repeated = simulated(step, schedule(16'384, 65'536, CollectiveOrder::static_order));
    ASSERT_EQ(repeated.part_order, negotiated.part_order);
    ASSERT_NEAR(static_cast<double>(repeated.iteration_ns),
                static_cast<double>(negotiated.iteration_ns), 4);
  }
}

TEST(PreparedStep, TakesAsLongAsSimulateSaysUnderEveryConfiguration) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto step = random() % 2 ? random_chain(random) : random_graph(random);
    step.compute_slowdown = 0.05;
    const auto prepared = PreparedStep::make(step);
    ASSERT_TRUE(prepared);
    for (int i = 0; i < 5; ++i) {
      auto config = schedule(4096 << random() % 6, 4096 << random() % 8,
                             static_cast<CollectiveOrder>(random() % 3));
      config.comm_channels = 1 << random() % 3;
      ASSERT_EQ(prepared->iteration_ns(config).value(), simulated(step, config).iteration_ns);
      ASSERT_EQ(prepared->iteration_ns(config, 2).value(),
                simulated(step, config).iterations_ns[1]);
    }
  }
}

TEST(PreparedStep, RefusesWhatItCannotSimulate) {
  StepDescription nothing;
  EXPECT_FALSE(PreparedStep::make(nothing));
  const auto prepared = PreparedStep::make(one_layer({0, 1, 0})).value();
  EXPECT_FALSE(prepared.iteration_ns(schedule(0, 0)));
}

TEST(Simulator, TheTraceHasEachTaskAndPartOnALaneOfItsOwn) {
  std::mt19937_64 random(8);
  auto step = random_chain(random);
  step.collective.latency_ns = 30'000;
  step.ranks = 2;
  step.rank_compute_scale = {1, 1.5};
  SimulationOptions options;
  options.config = schedule(8192, 65'536);
  options.config.comm_channels = 2;
  options.iterations = 3;
  options.watched_rank = 1;
  Events trace;
  options.trace = &trace;
  const auto result = simulate(step, options);
  ASSERT_TRUE(result);
  std::map<std::pair<TraceKind, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
  std::int64_t bytes = 0, whole = 0;
  for (const TraceEvent& event : trace.events) {
    lanes[{event.kind, event.lane}].emplace_back(event.begin_ns, event.end_ns);
    if (event.step == 0) bytes += event.bytes;
  }
  for (const StepLayer& layer : step.layers) whole += layer.parameter_bytes;
  EXPECT_EQ(bytes, whole);
  EXPECT_GT(lanes.size(), 2u) << "a part is not done before the next ones hold the channels";
  for (auto& [lane, intervals] : lanes) {
    std::sort(intervals.begin(), intervals.end());
    for (std::size_t i = 1; i < intervals.size(); ++i)
      EXPECT_LE(intervals[i - 1].second, intervals[i].first);
  }
}

TEST(Simulator, RefusesWhatItCannotSimulate) {
  const auto error = [](const StepDescription& step, const SimulationOptions& options) {
    const auto result = simulate(step, options);
    return result ? "no error" : result.error().message;
  };
  auto step = one_layer({0, 1, 0});
  SimulationOptions options;
  options.config.streams = 0;
  EXPECT_THAT(error(step, options), HasSubstr("\"streams\""));
  options.config.streams = 1;
  options.watched_rank = 1;
  EXPECT_THAT(error(step, options), HasSubstr("rank 1 is not there"));
  options.watched_rank = 0;
  step.layers[0].parameter_bytes = kMaxStepTaskBytes;
  options.config.partition_bytes = 4096;
  EXPECT_THAT(error(step, options), HasSubstr("raise partition_bytes"));
  step = one_layer({0, 1, 0});
  step.ranks = kMaxStepRanks;
  step.jitter = {JitterKind::normal, 0.1, 1};
  step.layers.resize(100, {"", 0, 1, 1});
  EXPECT_THAT(error(step, options), HasSubstr("give fewer ranks"));
}

}  // namespace
}  // namespace hocket
