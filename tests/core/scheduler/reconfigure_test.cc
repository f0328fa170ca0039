// Schedulers whose configuration changes while they run, checked by their tapes and traces.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "core/collective/part_sizes.h"
#include "core/sim/tape_replay.h"
#include "tests/core/host/ranks.h"
#include "tests/core/tape/tape_fixtures.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kLayers = 4, kValues = 3000;
constexpr std::int64_t kLayerBytes = kValues * sizeof(float);

/// A configuration that applies from one step on.
struct Change {
  ScheduleConfig config;
  std::optional<std::vector<std::uint32_t>> static_order = {};
};

/// Work of a job; the same on every rank.
struct Script {
  Change start;
  std::map<int, Change> changes = {};  // by the step before which they are made
  std::vector<bool> captures;          // by step: launch of a capture, or submission task by task
};

/// Results of one rank of the job.
struct Outcome {
  std::vector<std::vector<float>> parameters;
  std::string tape;
  std::vector<ObservedCollective::Part> parts;  // by index
  std::string error;
};

float gradient_of(float parameter, std::size_t layer) {
  return parameter * 0.25f + static_cast<float>(layer);
}

/// Returns the parameters after `steps` steps, computed sequentially.
std::vector<std::vector<float>> expected_parameters(int ranks, std::size_t steps) {
  std::vector<std::vector<float>> parameters(kLayers);
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    float value = 1;
    for (std::size_t step = 0; step < steps; ++step) {
      float sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += gradient_of(value, layer);
      value += sum * 0.125f;
    }
    parameters[layer].assign(kValues, value);
  }
  return parameters;
}

/// Sums gradients from the last layer to the first and adds each to its layer.
class Job {
 public:
  Job(Scheduler& scheduler, std::uint64_t timing) : scheduler_(scheduler), timing_(timing) {
    for (auto& data : parameter_data_) data = scheduler.add_data();
    for (auto& data : gradient_data_) data = scheduler.add_data();
  }

  void submit_step() {
    for (std::size_t i = kLayers; i-- > 0;) {
      const TaskOptions options{.name = "layer", .priority = static_cast<std::uint32_t>(i)};
      scheduler_.compute(options, {read(parameter_data_[i]), write(gradient_data_[i])}, [this, i] {
        dawdle();
        for (std::size_t v = 0; v < kValues; ++v)
          gradients_[i][v] = gradient_of(parameters_[i][v], i);
      });
      scheduler_.all_reduce(options, gradient_data_[i], gradients_[i]);
      scheduler_.compute(options, {read(gradient_data_[i]), update(parameter_data_[i])}, [this, i] {
        dawdle();
        for (std::size_t v = 0; v < kValues; ++v) parameters_[i][v] += gradients_[i][v] * 0.125f;
      });
    }
  }

  Result<void> run(const Script& script) {
    scheduler_.begin_capture();
    submit_step();
    const auto captured = scheduler_.end_capture();
    for (std::size_t step = 0; step < script.captures.size(); ++step) {
      if (const auto change = script.changes.find(static_cast<int>(step));
          change != script.changes.end()) {
        const auto& [config, static_order] = change->second;
        if (auto ok = scheduler_.reconfigure(config, static_order); !ok) return ok;
      }
      if (!script.captures[step]) submit_step();
      auto ok = script.captures[step] ? scheduler_.launch(captured) : scheduler_.end_step();
      if (!ok) return ok;
    }
    return scheduler_.synchronize();
  }

  const std::vector<std::vector<float>>& parameters() const { return parameters_; }

 private:
  /// Delays by a different time at every call and on every rank.
  void dawdle() {
    const auto turns = std::mt19937_64(timing_++)() % 20'000;
    for (std::atomic<std::uint64_t> i = 0; i < turns; ++i) {
    }
  }

  Scheduler& scheduler_;
  std::atomic<std::uint64_t> timing_;
  std::array<DataId, kLayers> parameter_data_, gradient_data_;
  std::vector<std::vector<float>> parameters_{kLayers, std::vector<float>(kValues, 1)};
  std::vector<std::vector<float>> gradients_ = parameters_;
};

Outcome run_rank(const Script& script, Collective& collective, std::uint64_t timing) {
  Outcome outcome;
  const SteadyClock clock;
  const auto& [config, static_order] = script.start;
  ObservedCollective observed(collective);
  {
    TapeWriter tape({.plan = plan_options(config, static_order.has_value(), collective.rank()),
                     .rank = collective.rank(),
                     .ranks = collective.world_size(),
                     .virtual_time = false,
                     .name = "reconfigured"},
                    clock, [&outcome](std::string_view bytes) { outcome.tape += bytes; });
    HostExecutor executor(observed, clock);
    Scheduler scheduler(config, executor,
                        {.trace = nullptr, .observer = &tape, .static_order = static_order});
    Job job(scheduler, timing);
    if (const auto ok = job.run(script); !ok) outcome.error = ok.error().message;
    outcome.parameters = job.parameters();
  }
  outcome.parts = observed.parts();
  std::ranges::sort(outcome.parts, {}, &ObservedCollective::Part::index);
  return outcome;
}

std::vector<Outcome> run_script(const Script& script, int ranks, std::uint64_t timing) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](int rank, Collective& collective) {
    outcomes[static_cast<std::size_t>(rank)] =
        run_rank(script, collective, timing + 1'000'000 * static_cast<std::uint64_t>(rank));
  });
  return outcomes;
}

/// A part on a tape: its collective, numbered over the job, and its range of bytes.
struct TapedPart {
  std::size_t collective;
  std::int64_t offset_bytes, bytes;
  bool operator==(const TapedPart&) const = default;
};

/// Returns the parts of a tape in the order in which they start. Checks that each is cut by the
/// partition under which its collective was submitted, and fits into the window in force when it
/// starts.
std::vector<TapedPart> lawful_parts(std::string_view tape) {
  struct Collective {
    std::size_t number;
    std::int64_t bytes, partition_bytes, next_offset;
  };
  PlanOptions plan = TapeReader::open(tape)->header().plan;
  std::map<std::uint64_t, Collective> collectives;  // by task
  std::vector<std::vector<TapeTask>> captured;
  std::vector<TapedPart> parts;
  std::int64_t in_flight_bytes = 0, in_flight = 0;
  const auto add = [&](std::uint64_t task, const TapeTask& what) {
    if (!what.is_collective) return;
    const std::size_t number = collectives.size();
    collectives[task] = {number, what.bytes, plan.partition_bytes, 0};
  };
  for (const TapeRecord& record : read_tape(tape).records) {
    if (record.kind == TapeKind::configured) plan = record.plan;
    if (record.kind == TapeKind::submitted) add(record.number, record.tasks.front());
    if (record.kind == TapeKind::captured) captured.push_back(record.tasks);
    if (record.kind == TapeKind::launched) {
      std::uint64_t task = record.first_task;
      for (const TapeTask& what : captured[record.number]) add(task++, what);
    }
    if (record.kind == TapeKind::finished_part) in_flight_bytes -= record.bytes, --in_flight;
    if (record.kind != TapeKind::started_part) continue;
    in_flight_bytes += record.bytes, ++in_flight;
    EXPECT_TRUE(in_flight_bytes <= plan.credit_bytes || in_flight == 1) << "the window is exceeded";
    auto& [number, bytes, partition_bytes, next_offset] = collectives.at(record.number);
    EXPECT_EQ(record.offset_bytes, next_offset);
    EXPECT_EQ(record.bytes, std::min(part_bytes(bytes, partition_bytes), bytes - next_offset));
    next_offset += record.bytes;
    parts.push_back({number, record.offset_bytes, record.bytes});
  }
  return parts;
}

/// Returns the distinct part sizes of each step.
std::vector<std::set<std::int64_t>> sizes_by_step(std::string_view tape, std::size_t steps) {
  std::vector<std::set<std::int64_t>> sizes(steps);
  for (const TapedPart& part : lawful_parts(tape))
    sizes.at(part.collective / kLayers).insert(part.bytes);
  return sizes;
}

ScheduleConfig config_of(std::int64_t partition_bytes, CollectiveOrder order) {
  return {.partition_bytes = partition_bytes, .credit_bytes = 8192, .streams = 2, .order = order};
}

TEST(Reconfigure, TheTapeHasOtherPartSizesFromTheSameStepOnOnEveryRank) {
  for (const auto order : {CollectiveOrder::fifo, CollectiveOrder::negotiated}) {
    for (const bool captures : {false, true}) {
      const Script script{.start = {config_of(4096, order)},
                          .changes = {{2, {config_of(1 << 20, order)}}},
                          .captures = std::vector<bool>(4, captures)};
      for (const Outcome& outcome : run_script(script, 2, 1)) {
        EXPECT_EQ(outcome.error, "");
        EXPECT_THAT(sizes_by_step(outcome.tape, 4),
                    ElementsAre(ElementsAre(3936, 4032), ElementsAre(3936, 4032),
                                ElementsAre(kLayerBytes), ElementsAre(kLayerBytes)));
      }
    }
  }
}

Change random_change(std::mt19937_64& random, ScheduleConfig config) {
  if (random() % 2) config.partition_bytes = std::int64_t{4096} << random() % 3;
  if (random() % 2) config.credit_bytes = std::int64_t{4096} << random() % 5;
  if (random() % 3 == 0) config.streams = 1 + static_cast<int>(random() % 4);
  if (random() % 3 == 0) config.comm_channels = 1 + static_cast<int>(random() % 3);
  if (random() % 3 == 0) config.order = static_cast<CollectiveOrder>(random() % 3);
  Change change{config};
  if (random() % 4 == 0) return change;
  const auto parts = static_cast<std::size_t>(part_count(kLayerBytes, config.partition_bytes));
  std::vector<std::uint32_t> order;
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) order.insert(order.end(), parts, layer);
  std::ranges::shuffle(order, random);
  change.static_order = std::move(order);
  return change;
}

TEST(Reconfigure, RandomChangesAtRandomStepsKeepEveryLawOnEveryRank) {
  constexpr std::size_t kSteps = 10;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Script script;
    Change change = script.start = random_change(random, {});
    for (std::size_t step = 0; step < kSteps; ++step) {
      script.captures.push_back(random() % 2);
      if (random() % 2) change = random_change(random, change.config);
      if (random() % 4) script.changes[static_cast<int>(step)] = change;
    }
    const int ranks = 1 + static_cast<int>(seed % 3);
    const auto outcomes = run_script(script, ranks, 1000 * seed);
    const auto parts = lawful_parts(outcomes[0].tape);
    for (const Outcome& outcome : outcomes) {
      ASSERT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.parameters, expected_parameters(ranks, kSteps));
      EXPECT_EQ(lawful_parts(outcome.tape), parts) << "ranks start other parts";
      auto reader = TapeReader::open(outcome.tape);
      const auto replayed = replay_tape(*reader);
      ASSERT_TRUE(replayed) << replayed.error().message;
      EXPECT_FALSE(replayed->difference) << replayed->difference->decided;
      EXPECT_FALSE(replayed->incomplete);
      // The n-th part to start has index n.
      ASSERT_EQ(outcome.parts.size(), parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(outcome.parts[i].index, i);
        EXPECT_EQ(outcome.parts[i].size * sizeof(float), static_cast<std::size_t>(parts[i].bytes));
      }
    }
  }
}

/// Counts how often the executor is started.
class CountingExecutor final : public Executor {
 public:
  explicit CountingExecutor(Executor& executor) : executor_(executor) {}
  void start(WorkSource& source, TraceSink* trace, const LaneCounts& lanes) override {
    ++starts;
    executor_.start(source, trace, lanes);
  }
  void wake(const LaneWakes& wakes) override { executor_.wake(wakes); }
  void stop(bool failed) override { executor_.stop(failed); }
  int rank() const override { return executor_.rank(); }
  int world_size() const override { return executor_.world_size(); }

  int starts = 0;

 private:
  Executor& executor_;
};

TEST(Reconfigure, OnlyWhatMustEndsWhatRuns) {
  const SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor host(*collective, clock);
  CountingExecutor executor(host);
  std::promise<void> gate;
  Scheduler scheduler({}, executor);
  scheduler.compute({}, {}, [&] { gate.get_future().wait(); });
  ASSERT_TRUE(scheduler.end_step());
  ScheduleConfig config{.partition_bytes = 4096, .credit_bytes = 8192};
  EXPECT_TRUE(scheduler.reconfigure(config)) << "while a task of the last step runs";
  EXPECT_TRUE(scheduler.reconfigure(config)) << "nothing is new";
  EXPECT_EQ(executor.starts, 1);
  gate.set_value();
  config.streams = 2;
  EXPECT_TRUE(scheduler.reconfigure(config));
  EXPECT_EQ(executor.starts, 2);
  EXPECT_TRUE(scheduler.reconfigure(config));
  EXPECT_EQ(executor.starts, 2);
}

TEST(Reconfigure, ABadConfigurationChangesNothing) {
  Script script{.start = {config_of(4096, CollectiveOrder::fifo)}, .captures = {true, false}};
  LocalGroup group(1);
  const auto collective = group.join(0);
  const SteadyClock clock;
  HostExecutor host(*collective, clock);
  CountingExecutor executor(host);
  Scheduler scheduler(script.start.config, executor);
  const auto refused = scheduler.reconfigure({.partition_bytes = 1, .streams = 2});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("partition_bytes"));
  EXPECT_TRUE(scheduler.reconfigure(script.start.config));
  EXPECT_EQ(executor.starts, 1);
  Job job(scheduler, 1);
  EXPECT_TRUE(job.run(script));
  EXPECT_EQ(job.parameters(), expected_parameters(1, 2));
}

/// A barrier that blocks calls until the given number has arrived.
class Gathering {
 public:
  void arrive(int all) {
    std::unique_lock lock(mutex_);
    const int group = groups_;
    if (++arrived_ == all) {
      arrived_ = 0;
      ++groups_;
      changed_.notify_all();
    }
    const auto gathered = [&] { return groups_ != group; };
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), gathered)) << "too few at once";
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0, groups_ = 0;
};

/// A single rank whose parts end only in groups of `parts_at_once`.
class GatheringCollective final : public Collective {
 public:
  int rank() const override { return 0; }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override { return 1'000'000'000; }
  void abort() override {}
  Result<void> tell(std::string_view) override { return {}; }
  Result<std::string> hear() override { return std::string(); }
  Result<void> run(const CollectiveWork&) override {
    ++calls;
    calls.notify_all();
    gathering_.arrive(parts_at_once);
    return {};
  }
  int parts_at_once = 1;
  std::atomic<int> calls = 0;

 private:
  const Mesh mesh_;
  Gathering gathering_;
};

/// Records the lanes used, by kind and step.
class Lanekeeper final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    std::lock_guard lock(mutex_);
    lanes[{event.kind, event.step}].insert(event.lane);
  }
  std::map<std::pair<TraceKind, std::int64_t>, std::set<int>> lanes;

 private:
  std::mutex mutex_;
};

TEST(Reconfigure, StreamsAndChannelsComeAndGo) {
  const SteadyClock clock;
  GatheringCollective collective;
  HostExecutor executor(collective, clock);
  Lanekeeper sink;
  Gathering gathering;
  const std::pair<int, int> numbers[] = {{1, 1}, {3, 1}, {2, 4}, {1, 2}, {4, 1}, {1, 1}};
  {
    Scheduler scheduler({}, executor, {.trace = &sink});
    std::vector<float> values(16);
    for (const auto& [streams, channels] : numbers) {
      ASSERT_TRUE(scheduler.reconfigure({.streams = streams, .comm_channels = channels}));
      collective.parts_at_once = channels;
      // The tasks end only if this many run at once. Each takes long enough for a stream to take
      // them one by one.
      for (int i = 0; i < 2 * streams; ++i) {
        scheduler.compute({}, {}, [&, all = streams] {
          gathering.arrive(all);
          for (const std::int64_t end_ns = clock.now_ns() + 20'000; clock.now_ns() < end_ns;) {
          }
        });
      }
      for (int i = 0; i < 2 * channels; ++i) scheduler.all_reduce({}, scheduler.add_data(), values);
      ASSERT_TRUE(scheduler.end_step());
    }
  }
  for (std::int64_t step = 0; step < std::ssize(numbers); ++step) {
    SCOPED_TRACE(step);
    const auto& [streams, channels] = numbers[step];
    const auto used = [&](TraceKind kind) { return std::ssize(sink.lanes[{kind, step}]); };
    EXPECT_EQ(used(TraceKind::compute), streams);
    EXPECT_EQ(used(TraceKind::communication), channels);
  }
}

TEST(Reconfigure, ALargerWindowLetsPartsStartAtOnce) {
  const SteadyClock clock;
  GatheringCollective collective;
  collective.parts_at_once = 2;
  HostExecutor executor(collective, clock);
  std::vector<float> values(2048);
  Scheduler scheduler({.partition_bytes = 4096, .credit_bytes = 4096, .comm_channels = 2},
                      executor);
  scheduler.all_reduce({}, scheduler.add_data(), values);
  ASSERT_TRUE(scheduler.end_step());
  collective.calls.wait(0);
  // Neither part ends without the other one.
  ASSERT_TRUE(
      scheduler.reconfigure({.partition_bytes = 4096, .credit_bytes = 8192, .comm_channels = 2}));
  collective.calls.wait(1);
  EXPECT_TRUE(scheduler.synchronize());
}

TEST(Reconfigure, GivesTheErrorOfASchedulerThatFailed) {
  const SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({}, executor);
  scheduler.compute({.name = "bad"}, {}, [] { throw std::runtime_error("no luck"); });
  ASSERT_FALSE(scheduler.synchronize());
  for (const ScheduleConfig& config :
       {ScheduleConfig{}, ScheduleConfig{.credit_bytes = 4096}, ScheduleConfig{.streams = 2}}) {
    const auto ok = scheduler.reconfigure(config);
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, HasSubstr("no luck"));
  }
}

TEST(Reconfigure, NoticesThatRankZeroIsGoneBeforeTheOrderEnds) {
  run_local_ranks(2, [](int rank, Collective& collective) {
    const SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler({.order = CollectiveOrder::negotiated}, executor);
    if (rank == 0) {
      scheduler.compute({}, {}, [] { throw std::runtime_error("no luck"); });
      EXPECT_FALSE(scheduler.synchronize());
      return;
    }
    const auto ok = scheduler.reconfigure({.order = CollectiveOrder::fifo});
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, HasSubstr("rank 0's order of collectives"));
    EXPECT_FALSE(scheduler.reconfigure({.streams = 3}));
  });
}

}  // namespace
}  // namespace hocket
