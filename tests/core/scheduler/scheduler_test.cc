#include "core/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "core/collective/part_sizes.h"
#include "tests/core/host/ranks.h"
#include "tests/core/scheduler/layered_job.h"

namespace hocket {
namespace {

using testing::HasSubstr;

ScheduleConfig random_config(std::mt19937_64& random) {
  ScheduleConfig config;
  config.partition_bytes = std::int64_t{4096} << random() % 6;
  config.credit_bytes = std::int64_t{4096} << random() % 8;
  config.streams = 1 + static_cast<int>(random() % 4);
  config.order = static_cast<CollectiveOrder>(random() % 3);
  return config;
}

/// Returns an order in which the parts of LayeredJob's gradients can start: any order in which each
/// collective has all its parts.
std::vector<std::uint32_t> random_order(std::mt19937_64& random, std::int64_t partition_bytes) {
  const LayeredJob job;
  const auto bytes = static_cast<std::int64_t>(job.values * sizeof(float));
  std::vector<std::uint32_t> order;
  for (int layer = 0; layer < job.layers; ++layer) {
    order.insert(order.end(), static_cast<std::size_t>(part_count(bytes, partition_bytes)),
                 static_cast<std::uint32_t>(layer));
  }
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

TEST(Scheduler, ConflictingTasksRunInTheOrderOfSubmission) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SteadyClock clock;
    LocalGroup group(1);
    const auto collective = group.join(0);
    const int streams = 1 + static_cast<int>(seed % 4);
    HostExecutor executor(*collective, clock);
    // Each item counts its writes, and a task records the count that it saw. A wrong order shows as
    // a different count.
    std::vector<std::atomic<int>> items(8);
    std::vector<int> writes(items.size());
    std::atomic<int> wrong = 0, ran = 0;
    {
      Scheduler scheduler({.streams = streams}, executor);
      std::vector<DataId> data(items.size());
      for (auto& d : data) d = scheduler.add_data();
      for (int i = 0; i < 2000; ++i) {
        const auto r = random() % items.size(), w = random() % items.size();
        const int expected_r = writes[r], expected_w = writes[w]++;
        const TaskOptions options{.priority = static_cast<std::uint32_t>(random() % 9)};
        scheduler.compute(options, {read(data[r]), update(data[w])},
                          [&, r, w, expected_r, expected_w] {
                            if (items[r] != expected_r) ++wrong;
                            if (items[w]++ != expected_w) ++wrong;
                            ++ran;
                          });
      }
      ASSERT_TRUE(scheduler.synchronize());
    }
    ASSERT_EQ(wrong, 0);
    ASSERT_EQ(ran, 2000);
  }
}

TEST(Scheduler, EveryRankGetsTheSameResultUnderEveryScheduleAndTiming) {
  const LayeredJob job;
  std::vector<std::vector<float>> expected;
  run_local_ranks(2, [&](int rank, Collective& collective) {
    auto result = job.run({}, collective);
    if (rank == 0) expected = std::move(result);
  });
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto config = random_config(random);
    config.comm_channels = 1 + static_cast<int>(random() % 3);
    const auto order = random_order(random, config.partition_bytes);
    run_local_ranks(2, [&](int rank, Collective& collective) {
      LayeredJob timed = job;
      timed.static_order = order;
      timed.captures = seed % 3 == 0;
      timed.timing_seed = 1000 * seed + static_cast<std::uint64_t>(rank);
      EXPECT_EQ(timed.run(config, collective), expected) << to_json(config);
    });
  }
}

TEST(Scheduler, PartsBeginInOneOrderOnEveryRank) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto config = random_config(random);
    config.order = static_cast<CollectiveOrder>(seed % 3);
    const auto order = random_order(random, config.partition_bytes);
    std::vector<std::vector<std::pair<std::uint64_t, std::size_t>>> begun(3);
    run_local_ranks(3, [&](int rank, Collective& collective) {
      ObservedCollective observed(collective);
      LayeredJob job;
      job.timing_seed = 77 * seed + static_cast<std::uint64_t>(rank);
      job.static_order = order;
      job.captures = seed % 2 == 1;
      job.sleep_us = seed % 4 == 2 ? 1000 : 0;
      Result<void> outcome;
      job.run(config, observed, &outcome);
      EXPECT_TRUE(outcome);
      for (const auto& part : observed.parts())
        begun[static_cast<std::size_t>(rank)].emplace_back(part.index, part.size);
    });
    ASSERT_FALSE(begun[0].empty());
    EXPECT_EQ(begun[1], begun[0]);
    EXPECT_EQ(begun[2], begun[0]);
  }
}

TEST(Scheduler, AStaticOrderIsFollowedStepAfterStep) {
  std::mt19937_64 random(3);
  const ScheduleConfig config{.partition_bytes = 4096,
                              .credit_bytes = 1 << 20,
                              .streams = 2,
                              .comm_channels = 1,
                              .order = CollectiveOrder::static_order};
  for (const bool captures : {false, true}) {
    const auto order = random_order(random, config.partition_bytes);
    run_local_ranks(2, [&](int rank, Collective& collective) {
      ObservedCollective observed(collective);
      LayeredJob job;
      job.timing_seed = static_cast<std::uint64_t>(rank);
      job.static_order = order;
      job.captures = captures;
      Result<void> outcome;
      job.run(config, observed, &outcome);
      ASSERT_TRUE(outcome) << outcome.error().message;
      ASSERT_EQ(observed.parts().size(), order.size() * static_cast<std::size_t>(job.steps));
      // The collective of a part follows from the address of its values, recorded in the first
      // step.
      std::vector<std::vector<const float*>> starts(static_cast<std::size_t>(job.layers));
      for (std::size_t i = 0; i < order.size(); ++i)
        starts[order[i]].push_back(observed.parts()[i].begin);
      for (const auto& of_layer : starts)
        EXPECT_TRUE(std::is_sorted(of_layer.begin(), of_layer.end()));
      for (std::size_t i = 0; i < observed.parts().size(); ++i)
        EXPECT_EQ(observed.parts()[i].begin, observed.parts()[i % order.size()].begin);
    });
  }
}

TEST(Scheduler, AStaticOrderForAnotherStepIsRefusedOnEveryRank) {
  std::mt19937_64 random(5);
  const ScheduleConfig config{.order = CollectiveOrder::static_order};
  auto fewer = random_order(random, config.partition_bytes);
  std::erase(fewer, 5u);
  auto more = random_order(random, config.partition_bytes);
  more.push_back(6);
  auto other_parts = random_order(random, config.partition_bytes / 1024);
  for (const auto& order : {fewer, more, other_parts}) {
    for (const bool captures : {false, true}) {
      run_local_ranks(2, [&](int, Collective& collective) {
        LayeredJob job;
        job.static_order = order;
        job.captures = captures;
        Result<void> outcome;
        job.run(config, collective, &outcome);
        ASSERT_FALSE(outcome);
        EXPECT_THAT(outcome.error().message, HasSubstr("order=static"));
      });
    }
  }
}

TEST(Scheduler, LaunchesAndSubmissionsMayAlternate) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  std::vector<int> log;
  {
    Scheduler scheduler({.streams = 2}, executor);
    const DataId data = scheduler.add_data();
    const auto add = [&](int value) {
      scheduler.compute({}, {update(data)}, [&log, value] { log.push_back(value); });
    };
    scheduler.begin_capture();
    add(1), add(2);
    const auto first = scheduler.end_capture();
    scheduler.begin_capture();
    add(3);
    const auto second = scheduler.end_capture();
    add(0);
    ASSERT_TRUE(scheduler.launch(first));
    ASSERT_TRUE(scheduler.launch(first));
    ASSERT_TRUE(scheduler.launch(second));
    add(4);
    ASSERT_TRUE(scheduler.end_step());
    ASSERT_TRUE(scheduler.launch(first));
    ASSERT_TRUE(scheduler.synchronize());
  }
  EXPECT_THAT(log, testing::ElementsAre(0, 1, 2, 1, 2, 3, 4, 1, 2));
}

TEST(Scheduler, TheForwardPassOfTheNextStepWaitsForItsOwnLayerAlone) {
  // The last layer's sum cannot complete before the next step's first forward task has run.
  run_local_ranks(2, [&](int rank, Collective& collective) {
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    std::vector<float> first(16, 1), last(16, 1);
    std::promise<void> next_forward_ran;
    bool ran_early = false;
    {
      Scheduler scheduler(
          {.credit_bytes = 1 << 20, .comm_channels = 2, .order = CollectiveOrder::negotiated},
          executor);
      const DataId g0 = scheduler.add_data(), g1 = scheduler.add_data();
      scheduler.all_reduce({.priority = 0}, g0, first);
      if (rank == 1) {
        // Rank 1 joins the last layer's sum only after its own next forward pass has begun.
        scheduler.compute({}, {update(g0)}, [&] { next_forward_ran.set_value(); });
        next_forward_ran.get_future().wait();
        scheduler.all_reduce({.priority = 1}, g1, last);
      } else {
        scheduler.all_reduce({.priority = 1}, g1, last);
        scheduler.compute({}, {update(g0)}, [&] { next_forward_ran.set_value(); });
        ran_early = next_forward_ran.get_future().wait_for(std::chrono::seconds(30)) ==
                    std::future_status::ready;
        EXPECT_TRUE(ran_early);
      }
      EXPECT_TRUE(scheduler.synchronize());
    }
  });
}

TEST(Scheduler, AStepAheadIsAllowedAndNoMore) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  std::promise<void> gate;
  const auto opened = gate.get_future().share();
  std::atomic<int> ended = 0;
  Scheduler scheduler({}, executor);
  const DataId data = scheduler.add_data();
  std::jthread submitter([&] {
    for (int step = 0; step < 3; ++step) {
      scheduler.compute({}, {update(data)}, [opened] { opened.wait(); });
      EXPECT_TRUE(scheduler.end_step());
      ++ended;
      ended.notify_all();
    }
  });
  ended.wait(0);
  EXPECT_EQ(ended, 1) << "the second step may be submitted, but its end waits for the first";
  gate.set_value();
  submitter.join();
  EXPECT_EQ(ended, 3);
}

TEST(Scheduler, AFailingCollectiveEndsEveryRankWithItsReason) {
  for (const auto order : {CollectiveOrder::fifo, CollectiveOrder::negotiated}) {
    run_local_ranks(3, [&](int rank, Collective& collective) {
      ObservedCollective faulty(collective, rank == 1 ? 4 : ~std::uint64_t{0});
      Result<void> outcome;
      LayeredJob().run({.comm_channels = 2, .order = order}, faulty, &outcome);
      ASSERT_FALSE(outcome);
      if (rank == 1) {
        EXPECT_THAT(outcome.error().message,
                    HasSubstr("all-reduce of \"gradient\" in step 0: injected failure"));
      }
    });
  }
}

TEST(Scheduler, ATaskThatThrowsFailsTheStepWithItsName) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({}, executor);
  scheduler.compute({.name = "bad"}, {}, [] { throw std::runtime_error("no luck"); });
  const auto ok = scheduler.synchronize();
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("task \"bad\" threw: no luck"));
  scheduler.compute({}, {}, [] {});
  EXPECT_FALSE(scheduler.end_step()) << "after a failure nothing more runs";
}

class CountingSink final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    std::lock_guard lock(mutex_);
    EXPECT_LE(event.begin_ns, event.end_ns);
    (event.kind == TraceKind::compute ? computes : parts) += 1;
    bytes += event.bytes;
  }
  int computes = 0, parts = 0;
  std::int64_t bytes = 0;

 private:
  std::mutex mutex_;
};

TEST(Scheduler, TheTraceHoldsEveryTaskAndPart) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  CountingSink sink;
  std::vector<float> values(10'000);
  {
    Scheduler scheduler({.partition_bytes = 4096}, executor, {.trace = &sink});
    const DataId data = scheduler.add_data();
    for (int i = 0; i < 10; ++i) scheduler.compute({}, {update(data)}, [] {});
    scheduler.all_reduce({}, data, values);
  }
  EXPECT_EQ(sink.computes, 10);
  EXPECT_EQ(sink.parts, 10);
  EXPECT_EQ(sink.bytes, 40'000);
}

}  // namespace
}  // namespace hocket
