#include "client/live/live_ballot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/client/local_daemon_link.h"
#include "tests/client/parts_of.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// A job whose ranks take turns on one thread. Some run one step ahead of their ballot.
class TurnJob {
 public:
  explicit TurnJob(std::vector<bool> ahead, LiveBallotOptions options = {})
      : changes(ahead.size()),
        profiles(ahead.size()),
        first_step_(options.first_step),
        ahead_(std::move(ahead)),
        sums_(ahead_.size()) {
    const auto world_size = static_cast<int>(ahead_.size());
    for (int rank = 0; rank < world_size; ++rank) {
      options.on_profile = [this, rank](std::int64_t first_step, std::int64_t steps) {
        EXPECT_GT(first_step, step_) << "it has begun";
        profiles[static_cast<std::size_t>(rank)].emplace_back(first_step, steps);
      };
      ranks.push_back(std::make_unique<LiveBallot>(options, rank, world_size,
                                                   rank == 0 ? &link : nullptr, clock_));
    }
  }

  void run(int steps) {
    for (; steps > 0; --steps, ++step_) {
      std::vector<float> total(ranks[0]->size()), ballot = total;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (!sums_[r].empty()) ranks[r]->read(std::exchange(sums_[r], {}));
        ranks[r]->fill(ballot);
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += ballot[i];
      }
      for (std::size_t r = 0; r < ranks.size(); ++r) end_step(r, total);
    }
  }

  bool counts = false;  ///< whether the ranks count
  LocalDaemonLink link;
  std::vector<std::unique_ptr<LiveBallot>> ranks;
  /// Changes by rank: step before which it changed, and new partition size.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> changes;
  /// Profiles announced, by rank.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> profiles;

 private:
  void end_step(std::size_t rank, const std::vector<float>& total) {
    LiveBallot& live = *ranks[rank];
    if (ahead_[rank]) {
      sums_[rank] = total;
    } else {
      live.read(total);
    }
    const bool is_fast = live.running().partition_bytes < parts_of(4 << 20).partition_bytes;
    if (counts)
      live.counted(
          first_step_ + step_,
          {.waited_ns = (1 + 10 * std::ssize(ranks) - static_cast<std::int64_t>(rank)) * 1'000'000,
           .computed_ns = 1000 * step_});
    live.iteration(first_step_ + step_, (is_fast ? 800'000 : 1'000'000) + step_ * 7919 % 13 * 1000);
    if (const auto next = live.step_ended()) {
      EXPECT_EQ(next->config, live.running());
      changes[rank].emplace_back(step_ + 1, next->config.partition_bytes);
    }
  }

  const SteadyClock clock_;
  const std::int64_t first_step_;
  const std::vector<bool> ahead_;
  std::vector<std::vector<float>> sums_;  // not read yet
  std::int64_t step_ = 0;
};

TEST(LiveBallot, RanksThatWaitAndRanksThatRunAheadChangeAtTheSameStep) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<bool> ahead(1 + random() % 5);
    for (std::size_t r = 0; r < ahead.size(); ++r) ahead[r] = random() % 2 == 0;
    TurnJob job(ahead);
    job.run(20 + static_cast<int>(random() % 20));
    job.link.push(ConfigMessage{1, parts_of(1 << 20), ""});
    job.run(60);
    for (const auto& changes : job.changes) EXPECT_EQ(changes, job.changes[0]);
    ASSERT_GE(job.changes[0].size(), 3u) << "there, back, and there again";
    for (const auto& rank : job.ranks) EXPECT_EQ(rank->running(), parts_of(1 << 20));
    EXPECT_EQ(job.link.version(), 1);
    job.ranks[0]->finish();
    ASSERT_FALSE(job.link.reports().empty());
  }
}

TEST(LiveBallot, EveryRankIsToldOnceOfTheSameStepsToProfile) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<bool> ahead(1 + random() % 5);
    for (std::size_t r = 0; r < ahead.size(); ++r) ahead[r] = random() % 2 == 0;
    std::string lines;
    TurnJob job(ahead, {.tuning = {.say = [&](const std::string& line) { lines += line + "\n"; }},
                        .first_step = 1000});
    const int before = static_cast<int>(random() % 20);
    job.run(before);
    job.link.push(ProfileMessage{3, 5});
    job.run(20);
    job.link.push(ProfileMessage{3, 5});  // sent again after a reconnect
    job.run(20);
    job.link.push(ProfileMessage{4, 2});
    job.run(20);
    for (const auto& profiles : job.profiles) EXPECT_EQ(profiles, job.profiles[0]);
    ASSERT_EQ(job.profiles[0].size(), 2u);
    const auto [first, steps] = job.profiles[0][0];
    EXPECT_GE(first, before);
    EXPECT_LT(first, before + 20);
    EXPECT_EQ(steps, 5);
    EXPECT_EQ(job.profiles[0][1].second, 2);
    EXPECT_THAT(lines, HasSubstr("profiling steps " + std::to_string(1000 + first) + " to " +
                                 std::to_string(1004 + first) + " (request 3)"));
  }
}

TEST(LiveBallot, Rank0ReportsWhatAllRanksCounted) {
  TurnJob job({false, true, false}, {.first_step = 100});
  job.counts = true;
  job.run(50);
  job.ranks[0]->finish();
  std::int64_t expected = 100, processor_ns = 0;
  for (const JobReport& report : job.link.reports()) {
    for (const CountedSteps& counted : report.counted) {
      EXPECT_EQ(counted.step, expected++);
      EXPECT_EQ(counted.steps, 1);
      ASSERT_EQ(counted.ranks.size(), 3u);
      for (int rank = 0; rank < 3; ++rank) {
        const RankCounters& counters = counted.ranks[static_cast<std::size_t>(rank)];
        EXPECT_EQ(counters.waited_ns, (31 - rank) * 1'000'000);
        EXPECT_EQ(counters.computed_ns, 1000 * (counted.step - 100));
        processor_ns = std::max(processor_ns, counters.processor_ns);
      }
    }
  }
  EXPECT_EQ(expected, 100 + 50 - CounterExchange::kLag);
  EXPECT_GE(processor_ns, 0) << "of the process that the ranks are in";
}

TEST(LiveBallot, AJobThatDoesNotCountReportsNoCounters) {
  TurnJob job({false, true});
  job.run(50);
  job.ranks[0]->finish();
  for (const JobReport& report : job.link.reports()) EXPECT_TRUE(report.counted.empty());
}

TEST(LiveBallot, WhatRank0RefusesIsRejectedWithItsReason) {
  TurnJob job({false, true}, {.accept = [](const ScheduleConfig&) -> Result<void> {
                return failure(ErrorCode::invalid_argument, "no room for it");
              }});
  job.run(20);
  job.link.push(ConfigMessage{1, parts_of(1 << 20), ""});
  job.run(20);
  EXPECT_TRUE(job.changes[1].empty());
  const auto reports = job.link.reports();
  ASSERT_FALSE(reports.empty());
  ASSERT_EQ(reports.back().outcomes.size(), 1u);
  EXPECT_EQ(reports.back().outcomes[0].status, ChangeStatus::rejected);
  EXPECT_THAT(reports.back().outcomes[0].message, HasSubstr("no room for it"));
}

}  // namespace
}  // namespace hocket
