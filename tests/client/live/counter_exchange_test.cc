#include "client/live/counter_exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/rounds.h"

namespace hocket {
namespace {

/// Ranks that take turns on one thread; each knows a step `lag` ballots later.
class CountingRanks {
 public:
  explicit CountingRanks(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) ranks_.emplace_back(rank, ranks);
  }

  /// Sums the next ballot; returns what rank 0 hears. `count` returns what a rank counts in a step.
  template <class Count>
  std::optional<CountedSteps> ballot(const Count& count) {
    std::vector<float> sum(ranks_[0].slots()), own = sum;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::int64_t known = ballots_ - CounterExchange::kLag;
      if (known >= 0) ranks_[rank].add(known, count(rank, known));
      ranks_[rank].contribute(own);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
    }
    ++ballots_;
    std::optional<CountedSteps> heard;
    for (std::size_t rank = ranks_.size(); rank-- > 0;) heard = ranks_[rank].tally(sum);
    return heard;
  }

 private:
  std::vector<CounterExchange> ranks_;
  std::int64_t ballots_ = 0;
};

TEST(CounterExchange, ATimeComesBackAsExactAsASlotHoldsIt) {
  EXPECT_EQ(slot_of_time(kNotCounted), 0);
  EXPECT_EQ(time_of_slot(0), kNotCounted);
  std::mt19937_64 random(7);
  float last_slot = 0;
  for (const std::int64_t ns : {0L, 999L, 1000L, 4'194'303'000L, 4'194'304'000L, 4'194'305'000L}) {
    EXPECT_GE(slot_of_time(ns), last_slot) << ns;
    last_slot = slot_of_time(ns);
  }
  for (int i = 0; i < 10'000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() % 1'000'000'000'000);
    const std::int64_t back = time_of_slot(slot_of_time(ns));
    ASSERT_LE(back, ns);
    ASSERT_LT(ns - back, ns < 4'194'304'000 ? 1000 : 256'000) << ns;
  }
  const std::int64_t longest = time_of_slot(slot_of_time(std::int64_t{1} << 60));
  EXPECT_GT(longest, 1'000'000'000'000);
  EXPECT_LT(slot_of_time(std::int64_t{1} << 60), 1 << 24);
  for (const float wrong :
       {0.5f, -1.0f, 3e7f, std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_EQ(time_of_slot(wrong), kNotCounted);
}

TEST(CounterExchange, Rank0HearsWhatEachRankCounted) {
  for (unsigned seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int ranks = 2 + static_cast<int>(random() % (seed % 4 == 0 ? 1023 : 70));
    const std::int64_t per_round = (ranks + 63) / 64;
    CountingRanks job(ranks);
    // Linear in the step, so that the mean over a round's steps is known.
    const auto count = [](std::size_t rank, std::int64_t step) {
      return RankCounters{.waited_ns = static_cast<std::int64_t>(rank) * 1'000'000 + step * 2000,
                          .computed_ns = 1000 * step};
    };
    std::int64_t next = 0;
    int heard_rounds = 0;
    for (std::int64_t ballot = 0; ballot < 8 * per_round + 8; ++ballot) {
      const auto heard = job.ballot(count);
      if (!heard) continue;
      ++heard_rounds;
      ASSERT_EQ(heard->steps, per_round);
      ASSERT_EQ(heard->ranks.size(), static_cast<std::size_t>(ranks));
      ASSERT_GE(heard->step, next);
      next = heard->step + per_round;
      if (heard->step + 1 < per_round) continue;  // some steps of the round are before the first
      const std::int64_t middle_ns = (2 * heard->step - per_round + 1) * 1000;
      for (std::size_t rank = 0; rank < heard->ranks.size(); ++rank) {
        const RankCounters& counters = heard->ranks[rank];
        ASSERT_NEAR(counters.waited_ns, rank * 1'000'000 + middle_ns, 1000) << rank;
        ASSERT_NEAR(counters.computed_ns, middle_ns / 2, 1000) << rank;
        ASSERT_EQ(counters.sending_ns, kNotCounted);
      }
    }
    EXPECT_GE(heard_rounds, 4);
  }
}

TEST(CounterExchange, ARankThatDoesNotCountIsLeftOut) {
  CountingRanks job(3);
  const auto count = [](std::size_t rank, std::int64_t) {
    return rank == 1 ? RankCounters{} : RankCounters{.waited_ns = 5000};
  };
  std::optional<CountedSteps> heard;
  for (int ballot = 0; ballot < 6; ++ballot) heard = job.ballot(count);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->ranks[0].waited_ns, 5000);
  EXPECT_EQ(heard->ranks[1], RankCounters{});
  CountingRanks silent(3);
  for (int ballot = 0; ballot < 6; ++ballot)
    EXPECT_FALSE(silent.ballot([](std::size_t, std::int64_t) { return RankCounters{}; }));
}

TEST(CounterExchange, SlotsAreBounded) {
  EXPECT_EQ(CounterExchange::slots_for(1), 0u);
  EXPECT_EQ(CounterExchange::slots_for(3), 3 * CounterExchange::kCounters);
  EXPECT_EQ(CounterExchange::slots_for(64), CounterExchange::slots_for(1024));
  EXPECT_EQ(CounterExchange::slots_for(1025), 0u);
  CounterExchange large(1024, 1025);
  large.add(0, {.waited_ns = 1});
  large.contribute({});
  EXPECT_FALSE(large.tally({}));
}

TEST(CounterExchange, ASumThatNoRankCanHaveSentCountsAsNothing) {
  CounterExchange rank(0, 2);
  std::vector<float> sum(rank.slots(), std::nanf(""));
  for (int ballot = 0; ballot < 5; ++ballot) EXPECT_FALSE(rank.tally(sum));
  sum[0] = 11;
  const auto heard = rank.tally(sum);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->ranks[0].waited_ns, 10'000);
  EXPECT_EQ(heard->ranks[1], RankCounters{});
}

}  // namespace
}  // namespace hocket
