#include "client/live/live_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>

#include "core/collective/part_sizes.h"
#include "core/tape/tape.h"
#include "tests/client/parts_of.h"
#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// An in-memory daemon: holds the test's pushes and the job's reports.
class MemoryLink final : public DaemonLink {
 public:
  void push(std::int64_t version, const ScheduleConfig& config) {
    messages_.push_back(ConfigMessage{version, config, ""});
  }
  DaemonStanding standing() const override { return {DaemonStanding::State::knows, ""}; }
  std::optional<DaemonMessage> take() override {
    if (messages_.empty()) return std::nullopt;
    auto message = messages_.front();
    messages_.pop_front();
    return message;
  }
  void report(JobReport report) override {
    for (auto& outcome : report.outcomes) outcomes.push_back(std::move(outcome));
  }
  void update(const ScheduleConfig&, std::int64_t version) override { versions.push_back(version); }

  std::vector<ChangeOutcome> outcomes;
  std::vector<std::int64_t> versions;

 private:
  std::deque<DaemonMessage> messages_;
};

constexpr std::int64_t kUsualParts = 4 << 20, kFastParts = 8192, kEqualParts = 16384,
                       kSlowParts = 4096;

/// Simulates iteration times, so that no test depends on the machine: faster beyond the noise,
/// equal, or slower.
std::int64_t iteration_ns(const ScheduleConfig& config, std::int64_t step) {
  const std::int64_t jitter = step * 7919 % 13 * 1000;
  if (config.partition_bytes == kFastParts) return 800'000 + jitter;
  return (config.partition_bytes == kSlowParts ? 2'000'000 : 1'000'000) + jitter;
}

/// A training job with a few layers; each has a gradient, its sum and an update.
struct LayeredJob {
  int world_size = 3, steps = 80;
  bool captured = false;
  ScheduleConfig initial = parts_of(kUsualParts);
  /// `before` is called by each rank's submitting thread before it submits a step; `submitted`
  /// after the step is submitted, before it ends.
  std::function<void(int rank, int step, MemoryLink& link)> before = [](int, int, MemoryLink&) {};
  std::function<void(int rank, int step)> submitted = [](int, int) {};
  std::function<void(int rank, int step)> in_task = [](int, int) {};
  std::function<Result<void>(int rank)> accept = [](int) { return Result<void>(); };
  std::uint64_t fail_at = ~std::uint64_t{0};  ///< part at which rank 1 dies
  bool live = true;

  static constexpr std::size_t kLayers = 3, kValues = 5000;

  struct Outcome {
    std::vector<float> parameters;
    std::string tape, error;
    std::int64_t partition_bytes = 0;  ///< final value
  };

  std::vector<Outcome> run(MemoryLink& link) const {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(world_size));
    run_local_ranks(world_size, [&](int rank, Collective& collective) {
      run_rank(rank, collective, link, outcomes[static_cast<std::size_t>(rank)]);
    });
    return outcomes;
  }

  void run_rank(int rank, Collective& group, MemoryLink& link, Outcome& outcome) const {
    const SteadyClock clock;
    ObservedCollective collective(group, rank == 1 ? fail_at : ~std::uint64_t{0});
    std::vector<float> parameters(kLayers * kValues, 1), gradients = parameters;
    TapeHeader header;
    header.plan = {initial.partition_bytes, initial.credit_bytes};
    TapeWriter tape(header, clock, [&](std::string_view bytes) { outcome.tape += bytes; });
    HostExecutor executor(collective, clock);
    int computed = 0;
    std::optional<LiveJob> tuned;
    Scheduler scheduler(initial, executor, {.observer = &tape});
    if (live) {
      tuned.emplace(LiveJobOptions{.tuning = {.config = initial},
                                   .static_order_of = order_of,
                                   .accept = [&, rank](const auto&) { return accept(rank); }},
                    scheduler, rank == 0 ? &link : nullptr, clock);
    }
    std::vector<DataId> p(kLayers), g(kLayers);
    for (std::size_t i = 0; i < kLayers; ++i)
      p[i] = scheduler.add_data(), g[i] = scheduler.add_data();
    const auto submit = [&] {
      for (std::size_t i = 0; i < kLayers; ++i) {
        const auto mine = std::span(parameters).subspan(i * kValues, kValues);
        const auto sums = std::span(gradients).subspan(i * kValues, kValues);
        scheduler.compute({.name = "gradient"}, {read(p[i]), write(g[i])}, [=, this, &computed] {
          if (i == 0) in_task(rank, computed++);
          for (std::size_t v = 0; v < kValues; ++v)
            sums[v] = mine[v] * static_cast<float>(v % 7 + static_cast<std::size_t>(rank)) * 0.01f;
        });
        scheduler.all_reduce({.name = "sum"}, g[i], sums);
        scheduler.compute({.name = "update"}, {read(g[i]), update(p[i])}, [=] {
          for (std::size_t v = 0; v < kValues; ++v) mine[v] -= 0.01f * sums[v];
        });
      }
      if (tuned) tuned->submit(g[kLayers - 1]);
    };
    std::shared_ptr<Scheduler::Capture> capture;
    if (captured) {
      scheduler.begin_capture();
      submit();
      capture = scheduler.end_capture();
    }
    std::vector<ScheduleConfig> ran;
    for (int step = 0; step < steps; ++step) {
      before(rank, step, link);
      if (tuned) ran.push_back(tuned->running());
      if (!captured) submit();
      submitted(rank, step);
      auto ok = captured ? scheduler.launch(capture) : scheduler.end_step();
      if (ok && tuned) {
        // Reported as late as a real job knows it.
        if (step >= 3) tuned->iteration(step - 3, iteration_ns(ran[ran.size() - 4], step));
        ok = tuned->step_submitted();
      }
      if (!ok) {
        outcome.error = ok.error().message;
        return;
      }
    }
    EXPECT_TRUE(scheduler.synchronize());
    if (tuned) {
      tuned->finish();
      outcome.partition_bytes = tuned->running().partition_bytes;
    }
    outcome.parameters = parameters;
  }

  static Result<std::vector<std::uint32_t>> order_of(const ScheduleConfig& config) {
    const auto parts = part_count(kValues * sizeof(float), config.partition_bytes);
    std::vector<std::uint32_t> order;
    for (std::uint32_t layer = kLayers; layer-- > 0;)
      order.insert(order.end(), static_cast<std::size_t>(parts), layer);
    return order;
  }
};

/// Changes on a rank's tape: number of steps before, and the new values.
using Changes = std::vector<std::tuple<int, std::int64_t, std::int64_t>>;

Changes changes_on(const std::string& tape) {
  auto reader = TapeReader::open(tape).value();
  Changes changes;
  int steps = 0;
  for (;;) {
    const auto record = reader.next();
    EXPECT_TRUE(record) << record.error().message;
    if (!record || !*record) return changes;
    const TapeRecord& r = **record;
    steps += r.kind == TapeKind::launched ||
             (r.kind == TapeKind::submitted && r.tasks[0].name == "ballot.tally");
    if (r.kind == TapeKind::configured)
      changes.emplace_back(steps, r.plan.partition_bytes, r.plan.credit_bytes);
  }
}

/// Checks that all ranks changed alike and computed the same result as without changes. Returns the
/// changes.
Changes check_alike(const LayeredJob& job, const std::vector<LayeredJob::Outcome>& ranks) {
  LayeredJob plain{.world_size = job.world_size, .steps = job.steps, .live = false};
  MemoryLink unused;
  const auto expected = plain.run(unused)[0].parameters;
  const auto changes = changes_on(ranks[0].tape);
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(changes_on(rank.tape), changes);
    EXPECT_EQ(rank.parameters, expected);
    EXPECT_EQ(rank.partition_bytes, ranks[0].partition_bytes);
  }
  return changes;
}

struct LiveJobTest : testing::TestWithParam<bool> {
  MemoryLink link;
  LayeredJob job{.captured = GetParam()};
};
INSTANTIATE_TEST_SUITE_P(OneByOneAndCaptured, LiveJobTest, testing::Bool());

TEST_P(LiveJobTest, APushReachesAllRanksAtOneStepWhileOneIsSlow) {
  std::promise<void> gate;
  auto opened = gate.get_future().share();
  job.before = [](int rank, int step, MemoryLink& to) {
    if (rank == 0 && step == 19) to.push(3, parts_of(kFastParts));
  };
  // Rank 2 is delayed in the steps of the agreement until rank 0 is as far ahead as possible.
  job.in_task = [&](int rank, int step) {
    if (rank == 2 && step == 21) opened.wait();
  };
  job.submitted = [&](int rank, int step) {
    if (rank == 0 && step == 21) gate.set_value();
  };
  const auto ranks = job.run(link);
  const auto changes = check_alike(job, ranks);
  ASSERT_GE(changes.size(), 3u) << "there, back, and there again";
  EXPECT_EQ(ranks[0].partition_bytes, kFastParts);
  ASSERT_EQ(link.outcomes.size(), 1u);
  EXPECT_EQ(link.outcomes[0].status, ChangeStatus::applied) << link.outcomes[0].message;
  EXPECT_EQ(link.versions, std::vector<std::int64_t>{3});
}

TEST_P(LiveJobTest, OfTwoPushesInARowTheNewestWins) {
  job.before = [](int rank, int step, MemoryLink& to) {
    if (rank == 0 && step == 20) to.push(1, parts_of(kSlowParts));
    if (rank == 0 && step == 23) to.push(2, parts_of(kFastParts));
  };
  const auto ranks = job.run(link);
  check_alike(job, ranks);
  EXPECT_EQ(ranks[0].partition_bytes, kFastParts);
  ASSERT_EQ(link.outcomes.size(), 2u);
  EXPECT_EQ(link.outcomes[0].version, 1);
  EXPECT_NE(link.outcomes[0].status, ChangeStatus::applied);
  EXPECT_EQ(link.outcomes[1].status, ChangeStatus::applied) << link.outcomes[1].message;
}

TEST_P(LiveJobTest, WhatIsSlowerIsBackWithinAFewSteps) {
  job.before = [](int rank, int step, MemoryLink& to) {
    if (rank == 0 && step == 20) to.push(1, parts_of(kSlowParts));
  };
  const auto ranks = job.run(link);
  const auto changes = check_alike(job, ranks);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_LE(std::get<0>(changes[1]) - std::get<0>(changes[0]), 10);
  EXPECT_EQ(ranks[0].partition_bytes, kUsualParts);
  ASSERT_EQ(link.outcomes.size(), 1u);
  EXPECT_EQ(link.outcomes[0].status, ChangeStatus::rolled_back);
}

TEST_P(LiveJobTest, APushInTheLastStepsLeavesNothingHalfDone) {
  for (int last = 1; last <= 6; ++last) {
    SCOPED_TRACE(last);
    job.steps = 30;
    job.before = [&](int rank, int step, MemoryLink& to) {
      if (rank == 0 && step == job.steps - last) to.push(last, parts_of(kFastParts));
    };
    const auto changes = check_alike(job, job.run(link));
    ASSERT_EQ(std::ssize(link.outcomes), last);
    EXPECT_NE(link.outcomes.back().status, ChangeStatus::applied);
    EXPECT_THAT(link.outcomes.back().message, HasSubstr("the job ended"));
    if (last < 4) {
      EXPECT_TRUE(changes.empty());
    }
  }
}

TEST_P(LiveJobTest, ARankThatRefusesKeepsAllOnTheOldOne) {
  job.before = [](int rank, int step, MemoryLink& to) {
    if (rank == 0 && step == 20) to.push(1, parts_of(kFastParts));
  };
  job.accept = [](int rank) -> Result<void> {
    if (rank != 1) return {};
    return failure(ErrorCode::invalid_argument, "not on this rank");
  };
  EXPECT_TRUE(check_alike(job, job.run(link)).empty());
  ASSERT_EQ(link.outcomes.size(), 1u);
  EXPECT_EQ(link.outcomes[0].status, ChangeStatus::rejected);
  EXPECT_THAT(link.outcomes[0].message, HasSubstr("rank 1 refused"));
}

TEST_P(LiveJobTest, ARankThatDiesFailsTheJobOnAllRanks) {
  job.before = [](int rank, int step, MemoryLink& to) {
    if (rank == 0 && step == 20) to.push(1, parts_of(kFastParts));
  };
  for (const std::uint64_t part : {85, 90, 95, 101}) {  // four per step
    job.fail_at = part;
    for (const auto& rank : job.run(link)) EXPECT_NE(rank.error, "");
  }
}

TEST_P(LiveJobTest, OrderStreamsAndChannelsChangeToo) {
  ScheduleConfig next = parts_of(kFastParts);
  next.order = CollectiveOrder::static_order;
  next.streams = 2;
  next.comm_channels = 2;
  job.before = [&](int rank, int step, MemoryLink& to) {
    if (rank == 0 && step == 15) to.push(1, next);
    if (rank == 0 && step == 70) to.push(2, parts_of(kUsualParts));
  };
  const auto ranks = job.run(link);
  EXPECT_GE(check_alike(job, ranks).size(), 4u);
  ASSERT_EQ(link.outcomes.size(), 2u);
  EXPECT_EQ(link.outcomes[0].status, ChangeStatus::applied) << link.outcomes[0].message;
}

TEST(LiveJob, AppendsTheBallotToAStaticOrder) {
  const std::vector<std::uint32_t> order{2, 1, 1, 0};
  EXPECT_THAT(with_ballot(order, 2, parts_of(kUsualParts)), testing::ElementsAre(2, 1, 1, 0, 3));
  EXPECT_THAT(with_ballot({0}, 1900, parts_of(4096)), testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(with_ballot({}, 2, parts_of(kUsualParts)), testing::ElementsAre(0));
}

}  // namespace
}  // namespace hocket
