// Sums of gradients over parameter servers in memory, by the same job as over collectives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/servers/local_servers.h"
#include "core/tape/tape.h"
#include "core/trace/trace_sink.h"
#include "tests/core/host/ranks.h"
#include "tests/core/scheduler/layered_job.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// Forwards every call; fails one push, or notes what was pushed and pulled.
class ObservedServers final : public ParameterServers {
 public:
  ObservedServers(ParameterServers& next, std::int64_t fail_at = -1)
      : next_(next), fail_at_(fail_at) {}

  int rank() const override { return next_.rank(); }
  int world_size() const override { return next_.world_size(); }
  int servers() const override { return next_.servers(); }
  using ParameterServers::push;
  Result<void> push(const ServedPart& part, std::span<const float> values,
                    const PartUpdate* update) override {
    {
      std::lock_guard lock(mutex_);
      if (fail_at_-- == 0) return failure(ErrorCode::unavailable, "injected failure");
      bytes_of_server[part.server] += static_cast<std::int64_t>(values.size_bytes());
      ++pushes[key(part)];
    }
    return next_.push(part, values, update);
  }
  Result<void> pull(const ServedPart& part, std::span<float> values) override {
    {
      std::lock_guard lock(mutex_);
      if (!summed.contains(key(part))) ++pulled_too_early;
      ++pulls[key(part)];
    }
    return next_.pull(part, values);
  }
  Result<std::optional<ServedPart>> next_sum(int server) override {
    auto part = next_.next_sum(server);
    std::lock_guard lock(mutex_);
    if (part && *part) summed.insert(key(**part));
    return part;
  }
  void end_waiting() override { next_.end_waiting(); }
  void begin_waiting() override { next_.begin_waiting(); }
  void abort() override { next_.abort(); }

  using Key = std::pair<std::uint64_t, std::int64_t>;
  std::map<Key, int> pushes, pulls;
  std::set<Key> summed;
  std::map<int, std::int64_t> bytes_of_server;
  int pulled_too_early = 0;

 private:
  static Key key(const ServedPart& part) { return {part.collective, part.offset_bytes}; }

  ParameterServers& next_;
  std::mutex mutex_;
  std::int64_t fail_at_;
};

ScheduleConfig served_config(std::mt19937_64& random) {
  ScheduleConfig config;
  config.partition_bytes = std::int64_t{4096} << random() % 6;
  config.credit_bytes = std::int64_t{4096} << random() % 6;
  config.pull_credit_bytes = random() % 2 ? 0 : std::int64_t{4096} << random() % 6;
  config.streams = 1 + static_cast<int>(random() % 3);
  config.comm_channels = 1 + static_cast<int>(random() % 3);
  config.order = static_cast<CollectiveOrder>(random() % 3);
  config.communication = Communication::parameter_server;
  return config;
}

/// Returns the parameters of `job` with `config`, over all-reduces and over `servers` servers.
void expect_same_parameters(LayeredJob job, const ScheduleConfig& config, int ranks, int servers) {
  std::vector<std::vector<float>> expected;
  run_local_ranks(ranks, [&](int rank, Collective& collective) {
    LayeredJob reduced = job;
    reduced.odd = nullptr;
    const auto parameters = reduced.run({}, collective);
    if (rank == 0) expected = parameters;
  });
  LocalServers group(ranks, servers);
  run_local_ranks(ranks, [&](int rank, Collective& collective) {
    const auto joined = group.join(rank);
    ObservedServers observed(*joined);
    LayeredJob own = job;
    own.timing_seed += static_cast<std::uint64_t>(rank);
    own.servers = &observed;
    Result<void> outcome;
    EXPECT_TRUE(own.run(config, collective, &outcome) == expected);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(observed.pushes.empty());
    EXPECT_EQ(observed.pushes, observed.pulls);
    EXPECT_EQ(observed.pulled_too_early, 0);
    for (const auto& [part, times] : observed.pushes) EXPECT_EQ(times, 1);
  });
}

TEST(ServedScheduler, ParametersAreThoseOfAllReduces) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    LayeredJob job;
    job.timing_seed = random();
    job.captures = seed % 2;
    const ScheduleConfig config = served_config(random), odd = served_config(random);
    if (seed % 3 == 0) job.odd = &odd;
    const int ranks = 1 + static_cast<int>(random() % 3);
    expect_same_parameters(job, config, ranks, 1 + static_cast<int>(random() % 3));
  }
}

TEST(ServedScheduler, TheWayChangesBetweenTwoSteps) {
  for (const bool captures : {false, true}) {
    LayeredJob job;
    job.captures = captures;
    const ScheduleConfig all_reduce{.order = CollectiveOrder::negotiated};
    job.odd = &all_reduce;
    job.steps = 6;
    expect_same_parameters(job,
                           {.partition_bytes = 4096,
                            .order = CollectiveOrder::negotiated,
                            .communication = Communication::parameter_server},
                           2, 2);
  }
}

TEST(ServedScheduler, ServersKeepTheOptimizersStateWhileThePartitionChanges) {
  constexpr std::size_t kBig = 500'000, kSmall = 700;
  constexpr int kUpdates = 6, kRanks = 2;
  LocalServers group(kRanks, 3);
  SteadyClock clock;
  run_local_ranks(kRanks, [&](int rank, Collective& collective) {
    const auto servers = group.join(rank);
    HostExecutor executor(collective, clock, servers.get());
    ScheduleConfig config{.communication = Communication::parameter_server};
    Scheduler scheduler(config, executor);
    struct Tensor {
      DataId data;
      std::vector<float> values, expected, first, second;
    };
    std::vector<Tensor> tensors;
    for (const std::size_t size : {kSmall, kBig, kSmall}) {
      tensors.push_back({scheduler.add_data(), std::vector<float>(size), std::vector<float>(size),
                         std::vector<float>(size), std::vector<float>(size)});
    }
    OptimizerStep step{.kind = OptimizerKind::adamw, .gradient_scale = 0.5, .learning_rate = 0.1};
    for (int update = 1; update <= kUpdates; ++update) {
      config.partition_bytes = std::int64_t{16'384} << (7 * update % 5);
      ASSERT_TRUE(scheduler.reconfigure(config));
      step.update = update;
      for (Tensor& tensor : tensors) {
        for (std::size_t i = 0; i < tensor.values.size(); ++i) {
          const auto gradient = [&](int of) {
            return static_cast<float>((i * 7 + static_cast<std::size_t>(update * 3 + of)) % 101);
          };
          tensor.values[i] = gradient(rank);
          tensor.expected[i] = gradient(0) + gradient(1);
        }
        apply_optimizer_step(step, tensor.expected, tensor.first, tensor.second);
        scheduler.optimizer_step({}, tensor.data, tensor.values, step);
      }
      ASSERT_TRUE(scheduler.end_step());
      const auto done = scheduler.synchronize();
      ASSERT_TRUE(done) << done.error().message;
      for (const Tensor& tensor : tensors)
        ASSERT_TRUE(tensor.values == tensor.expected) << "update " << update;
    }
  });
}

TEST(ServedScheduler, UpdatesOnServersNeedServers) {
  SteadyClock clock;
  std::vector<float> values(8);
  const OptimizerStep step;
  for (const bool captures : {false, true}) {
    LocalGroup ranks(1);
    const auto collective = ranks.join(0);
    LocalServers group(1, 1);
    const auto servers = group.join(0);
    HostExecutor executor(*collective, clock, servers.get());
    Scheduler scheduler({}, executor);
    const DataId data = scheduler.add_data();
    if (captures) scheduler.begin_capture();
    scheduler.optimizer_step({}, data, values, step);
    const auto ended = captures ? scheduler.launch(scheduler.end_capture()) : scheduler.end_step();
    ASSERT_FALSE(ended);
    EXPECT_THAT(ended.error().message, HasSubstr("set communication=parameter_server"));
  }
}

TEST(ServedScheduler, ServersGetEquallyManyBytes) {
  LocalServers group(1, 3);
  const auto joined = group.join(0);
  ObservedServers observed(*joined);
  LayeredJob job;
  job.servers = &observed;
  job.values = 30'000;
  run_local_ranks(1, [&](int, Collective& collective) {
    job.run({.partition_bytes = 16'384, .communication = Communication::parameter_server},
            collective);
  });
  ASSERT_EQ(observed.bytes_of_server.size(), 3U);
  for (const auto& [server, bytes] : observed.bytes_of_server)
    EXPECT_NEAR(static_cast<double>(bytes), 5 * 6 * 30'000 * 4 / 3.0, 5 * 16'384) << server;
}

TEST(ServedScheduler, AFailureEndsTheStepOfEachRankWithItsName) {
  LocalServers group(2, 1);
  run_local_ranks(2, [&](int rank, Collective& collective) {
    const auto joined = group.join(rank);
    ObservedServers faulty(*joined, rank == 1 ? 7 : -1);
    LayeredJob job;
    job.servers = &faulty;
    Result<void> outcome;
    job.run({.communication = Communication::parameter_server}, collective, &outcome);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, HasSubstr(rank == 1 ? "push of \"gradient\" in step 1: "
                                                               "injected failure"
                                                             : "rank 1"));
  });
}

TEST(ServedScheduler, WhatServersCannotDoIsRefusedByName) {
  SteadyClock clock;
  std::vector<float> values(8);
  const auto outcome = [&](ScheduleConfig config, bool has_servers, CollectiveKind kind,
                           bool captures = false) {
    config.communication = Communication::parameter_server;
    LocalGroup ranks(1);
    const auto collective = ranks.join(0);
    LocalServers group(1, 1);
    const auto servers = group.join(0);
    HostExecutor executor(*collective, clock, has_servers ? servers.get() : nullptr);
    Scheduler scheduler(config, executor);
    const DataId data = scheduler.add_data();
    if (captures) scheduler.begin_capture();
    if (kind == CollectiveKind::all_reduce) scheduler.all_reduce({}, data, values);
    if (kind == CollectiveKind::all_gather) scheduler.all_gather({}, data, values);
    Result<void> ended = captures ? scheduler.launch(scheduler.end_capture()) : Result<void>();
    if (!captures) ended = scheduler.end_step();
    if (ended) ended = scheduler.synchronize();
    return ended ? std::string("done") : ended.error().message;
  };
  EXPECT_EQ(outcome({}, true, CollectiveKind::all_reduce), "done");
  EXPECT_THAT(outcome({}, false, CollectiveKind::all_reduce), HasSubstr("--servers N"));
  EXPECT_THAT(outcome({.bucket_bytes = 1 << 20}, true, CollectiveKind::all_reduce),
              HasSubstr("bucket_bytes"));
  for (const bool captures : {false, true}) {
    EXPECT_THAT(outcome({}, true, CollectiveKind::all_gather, captures),
                HasSubstr("the step has all-gather collectives; set communication=all_reduce"));
  }

  LocalGroup ranks(1);
  const auto collective = ranks.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({}, executor);
  const auto refused = scheduler.reconfigure({.communication = Communication::parameter_server});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no parameter servers"));
  scheduler.all_reduce({}, scheduler.add_data(), values);
  EXPECT_TRUE(scheduler.end_step()) << "what is refused changes nothing";
  EXPECT_TRUE(scheduler.synchronize());
}

/// Keeps every event.
class KeptTrace final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    std::lock_guard lock(mutex_);
    events.push_back(event);
  }
  std::vector<TraceEvent> events;

 private:
  std::mutex mutex_;
};

TEST(ServedScheduler, ItsTapeAndTraceHaveBothWays) {
  SteadyClock clock;
  LocalGroup ranks(1);
  const auto collective = ranks.join(0);
  LocalServers group(1, 2);
  const auto servers = group.join(0);
  HostExecutor executor(*collective, clock, servers.get());
  const ScheduleConfig config{.partition_bytes = 4096,
                              .comm_channels = 2,
                              .communication = Communication::parameter_server};
  std::string bytes;
  KeptTrace trace;
  std::vector<float> values(4096);
  {
    TapeWriter tape({.plan = plan_options(config, false, 0, 2), .virtual_time = false, .name = {}},
                    clock, [&](std::string_view more) { bytes += more; });
    Scheduler scheduler(config, executor, {.trace = &trace, .observer = &tape});
    scheduler.all_reduce({.name = "gradient"}, scheduler.add_data(), values);
    ASSERT_TRUE(scheduler.end_step());
    ASSERT_TRUE(scheduler.synchronize());
  }
  auto tape = TapeReader::open(bytes);
  ASSERT_TRUE(tape) << tape.error().message;
  EXPECT_EQ(tape->header().plan.servers, 2);
  std::map<TapeKind, int> kinds;
  for (auto record = tape->next(); record && *record; record = tape->next())
    ++kinds[(*record)->kind];
  for (const TapeKind kind : {TapeKind::started_part, TapeKind::finished_push,
                              TapeKind::started_pull, TapeKind::finished_pull})
    EXPECT_EQ(kinds[kind], 4) << to_string(kind);
  EXPECT_EQ(kinds[TapeKind::finished_part], 0);

  std::map<CollectiveKind, int> parts;
  for (const TraceEvent& event : trace.events) {
    ++parts[event.collective];
    EXPECT_EQ(event.lane >= 2, event.collective == CollectiveKind::pull) << event.lane;
    EXPECT_EQ(event.sequence, kNoSequence);
  }
  EXPECT_EQ(parts,
            (std::map<CollectiveKind, int>{{CollectiveKind::push, 4}, {CollectiveKind::pull, 4}}));
}

}  // namespace
}  // namespace hocket
