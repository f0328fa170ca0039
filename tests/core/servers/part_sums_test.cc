#include "core/servers/part_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "tests/core/servers/rank_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::size_t kRoomy = std::size_t{1} << 30;

/// Counts how often it is woken.
struct CountingWaiter final : SumWaiter {
  void wake() override { ++wakes; }
  std::atomic<int> wakes = 0;
};

Result<void> push(PartSums& sums, const PartKey& key, int rank, std::span<const float> values) {
  auto summand = sums.begin_push(key, rank, values.size());
  HOCKET_TRY(summand);
  std::ranges::copy(values, summand->values().begin());
  return sums.finish_push(std::move(*summand));
}

Result<void> push_size(PartSums& sums, const PartKey& key, int rank, std::size_t size) {
  return push(sums, key, rank, std::vector<float>(size, 1));
}

Result<std::vector<float>> pull(PartSums& sums, const PartKey& key, int rank, std::size_t size) {
  const auto sum = sums.pull(key, rank, size);
  HOCKET_TRY(sum);
  return std::vector<float>(sum->values().begin(), sum->values().end());
}

/// Returns the sums that the rank can take.
Result<std::vector<PartKey>> take(PartSums& sums, int rank) {
  std::vector<PartKey> keys(1000);
  const auto taken = sums.take_sums(rank, keys, std::make_shared<CountingWaiter>());
  HOCKET_TRY(taken);
  keys.resize(*taken);
  return keys;
}

void expect_error(const auto& result, ErrorCode code, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  for (const auto& part : parts) EXPECT_THAT(result.error().message, HasSubstr(part));
}

/// Parts that several ranks push and pull in a random order, against a model of who has done what.
class RandomParts {
 public:
  RandomParts(PartSums& sums, std::uint64_t seed) : sums_(sums), seed_(seed), random_(seed) {
    const std::size_t sizes[] = {0, 1, 7, 1000};
    for (std::uint64_t part = 0; part < 6; ++part) {
      sizes_.push_back(sizes[below(4)]);
      for (int rank = 0; rank < sums.ranks(); ++rank) places_[{part, rank}];
    }
    for (int rank = 0; rank < sums.ranks(); ++rank)
      waiters_.push_back(std::make_shared<CountingWaiter>());
    taken_.resize(waiters_.size());
    waits_.resize(waiters_.size());
  }

  /// Takes steps in a random order until every rank has pushed and pulled every part.
  void run() {
    for (const auto& [place, ignored] : places_) open_.push_back(place);
    while (!open_.empty() && !testing::Test::HasFailure()) {
      const auto at = open_.begin() + static_cast<std::ptrdiff_t>(below(open_.size()));
      const auto [part, rank] = *at;
      if (below(2) == 0) {
        step_push(part, rank, places_.at(*at));
      } else {
        step_take(rank);
        step_pull(part, rank, places_.at(*at));
      }
      if (places_.at(*at).pulled) open_.erase(at);
    }
  }

 private:
  struct Place {
    std::unique_ptr<PartSummand> summand = {};
    bool pushed = false, pulled = false;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }
  static PartKey key(std::uint64_t part) {
    return {part / 2, static_cast<std::int64_t>(part % 2 * 4096)};
  }
  std::vector<int> missing(std::uint64_t part) const {
    std::vector<int> missing;
    for (int rank = 0; rank < sums_.ranks(); ++rank)
      if (!places_.at({part, rank}).pushed) missing.push_back(rank);
    return missing;
  }

  void step_push(std::uint64_t part, int rank, Place& place) {
    if (place.pushed) return;
    if (!place.summand) {
      auto begun = sums_.begin_push(key(part), rank, sizes_[part]);
      ASSERT_TRUE(begun) << begun.error().message;
      place.summand = std::make_unique<PartSummand>(std::move(*begun));
    } else if (below(4) == 0) {
      std::ranges::fill(place.summand->values(), 1e30F);
      place.summand.reset();  // its connection broke, say, and another one takes over
    } else {
      std::ranges::copy(rank_values(seed_ + part, rank, sizes_[part]),
                        place.summand->values().begin());
      ASSERT_TRUE(sums_.finish_push(std::move(*place.summand)));
      place.summand.reset();
      place.pushed = true;
      if (missing(part).empty()) expect_all_woken(part);
    }
  }

  void expect_all_woken(std::uint64_t part) {
    for (std::size_t rank = 0; rank < waiters_.size(); ++rank) {
      ASSERT_EQ(waiters_[rank]->wakes.exchange(0), waits_[rank] ? 1 : 0);
      waits_[rank] = false;
      ready_.insert({key(part), static_cast<int>(rank)});
    }
  }

  /// Each rank takes each sum once, when it is one.
  void step_take(int number) {
    const auto rank = static_cast<std::size_t>(number);
    PartKey keys[2];
    const auto taken = sums_.take_sums(number, std::span(keys).first(1 + below(2)), waiters_[rank]);
    ASSERT_TRUE(taken);
    for (std::size_t i = 0; i < *taken; ++i) {
      ASSERT_EQ(ready_.erase({keys[i], number}), 1U);
      taken_[rank].insert(keys[i]);
    }
    if (*taken > 0) return;
    for (const auto& [left, of] : ready_) ASSERT_NE(of, number);
    waits_[rank] = true;
  }

  void step_pull(std::uint64_t part, int rank, Place& place) {
    const auto unfinished = sums_.unfinished(rank, sums_.pushes(rank));
    if (place.pushed && !missing(part).empty()) {
      ASSERT_TRUE(unfinished);
    }
    if (!taken_[static_cast<std::size_t>(rank)].contains(key(part))) {
      if (!missing(part).empty()) {
        ASSERT_FALSE(sums_.pull(key(part), rank, sizes_[part]));
      }
      return;
    }
    const auto sum = sums_.pull(key(part), rank, sizes_[part]);
    ASSERT_TRUE(sum) << sum.error().message;
    expect_same_bits(sum->values(), sum_of_ranks(seed_ + part, sums_.ranks(), sizes_[part]));
    place.pulled = true;
  }

  PartSums& sums_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<std::size_t> sizes_;  // by part
  std::map<std::pair<std::uint64_t, int>, Place> places_;
  std::vector<std::pair<std::uint64_t, int>> open_;
  std::set<std::pair<PartKey, int>> ready_;  ///< sums that the rank has not taken
  // by rank:
  std::vector<std::shared_ptr<CountingWaiter>> waiters_;
  std::vector<std::set<PartKey>> taken_;
  std::vector<bool> waits_;
};

TEST(PartSums, AddsInTheOrderOfRanksWhateverTheOrderOfArrival) {
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PartSums sums(1 + static_cast<int>(seed % 5), kRoomy);
    RandomParts parts(sums, seed);
    parts.run();
    ASSERT_EQ(sums.used_bytes(), 0U);
    if (HasFailure()) return;
  }
}

TEST(PartSums, TakesNoNewMemoryForTheSamePartsAgain) {
  for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PartSums sums(3, kRoomy);
    for (std::uint64_t part = 0; part < 4; ++part)
      for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(push_size(sums, {part, 0}, 2 - rank, 1000));
    std::size_t kept = 0;
    for (std::uint64_t round = 0; round < 3; ++round) {
      for (std::uint64_t part = 0; part < 4; ++part)
        for (int rank = 0; rank < 3; ++rank)
          ASSERT_TRUE(pull(sums, {part + 4 * round, 0}, rank, 1000));
      ASSERT_EQ(sums.used_bytes(), 0U);
      if (round == 0) kept = sums.kept_bytes();
      ASSERT_EQ(sums.kept_bytes(), kept);
      for (std::uint64_t part = 0; part < 4; ++part) {
        for (int rank = 0; rank < 3; ++rank) {
          ASSERT_TRUE(push_size(sums, {part + 4 * (round + 1), 0}, 2 - rank, 1000));
          ASSERT_EQ(sums.used_bytes() + sums.kept_bytes(), kept);
        }
      }
    }
  }
}

TEST(PartSums, ThreadsOfRanksGetTheSameSums) {
  constexpr int kRanks = 4;
  constexpr std::uint64_t kParts = 40;
  constexpr std::size_t kSize = 3000;
  PartSums sums(kRanks, kRoomy);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      for (std::uint64_t i = 0; i < kParts; ++i) {
        const std::uint64_t part = rank % 2 == 0 ? i : kParts - 1 - i;
        ASSERT_TRUE(push(sums, {part, 0}, rank, rank_values(part, rank, kSize)));
      }
    });
    threads.emplace_back([&, rank] {
      for (std::size_t pulled = 0; pulled < kParts;) {
        const auto keys = take(sums, rank);
        ASSERT_TRUE(keys);
        for (const PartKey& key : *keys) {
          const auto sum = pull(sums, key, rank, kSize);
          ASSERT_TRUE(sum) << sum.error().message;
          expect_same_bits(*sum, sum_of_ranks(key.collective, kRanks, kSize));
          ++pulled;
        }
        std::this_thread::yield();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(sums.used_bytes(), 0U);
}

TEST(PartSums, ASumIsThereAgainOnlyWhenEveryRankHasPulled) {
  PartSums sums(2, kRoomy);
  ASSERT_TRUE(push_size(sums, {3, 64}, 0, 4));
  expect_error(push_size(sums, {3, 64}, 0, 5), ErrorCode::invalid_argument,
               {"rank 0 pushes 20 bytes of collective 3 at offset 64 a second time", "16 bytes"});
  expect_error(pull(sums, {3, 64}, 0, 4), ErrorCode::invalid_argument,
               {"rank 0 pulls 16 bytes of collective 3 at offset 64, which is no sum"});
  ASSERT_TRUE(push_size(sums, {3, 64}, 1, 4));
  ASSERT_TRUE(pull(sums, {3, 64}, 0, 4));
  expect_error(push_size(sums, {3, 64}, 0, 4), ErrorCode::invalid_argument, {"second time"});
  expect_error(pull(sums, {3, 64}, 0, 4), ErrorCode::invalid_argument,
               {"rank 0 pulls 16 bytes of collective 3 at offset 64 a second time"});
  EXPECT_EQ(pull(sums, {3, 64}, 1, 4).value(), std::vector<float>(4, 2));
  EXPECT_EQ(sums.used_bytes(), 0U);
  expect_error(pull(sums, {3, 64}, 0, 4), ErrorCode::invalid_argument, {"which is no sum"});
  EXPECT_TRUE(push_size(sums, {3, 64}, 0, 5)) << "all that was known of the part is gone";
}

TEST(PartSums, ADisagreementAboutTheSizeReachesEveryRank) {
  PartSums sums(3, kRoomy);
  const auto waiter = std::make_shared<CountingWaiter>();
  PartKey key;
  ASSERT_TRUE(push_size(sums, {7, 8}, 0, 10));
  ASSERT_EQ(sums.take_sums(0, {&key, 1}, waiter).value(), 0U);
  const std::vector<std::string> words = {"rank 1 pushes 44 bytes", "collective 7 at offset 8",
                                          "rank 0 has 40 bytes"};
  expect_error(push_size(sums, {7, 8}, 1, 11), ErrorCode::invalid_argument, words);
  EXPECT_EQ(waiter->wakes, 1);
  for (int times = 0; times < 2; ++times)
    expect_error(take(sums, 0), ErrorCode::invalid_argument, words);
  expect_error(pull(sums, {7, 8}, 0, 10), ErrorCode::invalid_argument, words);
  expect_error(push_size(sums, {7, 8}, 2, 10), ErrorCode::invalid_argument, words);
  EXPECT_EQ(sums.used_bytes(), 0U);
}

TEST(PartSums, APullOfAnotherSizeDoesNotHarmTheSum) {
  PartSums sums(1, kRoomy);
  ASSERT_TRUE(push_size(sums, {7, 8}, 0, 10));
  expect_error(pull(sums, {7, 8}, 0, 9), ErrorCode::invalid_argument,
               {"rank 0 pulls 36 bytes", "rank 0 has 40 bytes"});
  EXPECT_TRUE(pull(sums, {7, 8}, 0, 10));
  EXPECT_EQ(sums.used_bytes(), 0U);
}

TEST(PartSums, MemoryIsLimited) {
  constexpr std::size_t kLimit = 10'000;
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PartSums sums(2, kLimit);
    std::map<std::uint64_t, std::size_t> pushed;
    for (std::uint64_t part = 0; part < 60; ++part) {
      const std::size_t size = random() % 600;
      if (const auto ok = push_size(sums, {part, 0}, 1, size)) {
        pushed[part] = size;
      } else {
        expect_error(ok, ErrorCode::unavailable,
                     {"rank 1's " + std::to_string(size * 4) + " bytes",
                      "limit of sums is 10000 bytes", "raise it"});
        ASSERT_GT(sums.used_bytes() + size * 4 + 1000, kLimit) << "it would have fitted";
      }
      ASSERT_LE(sums.used_bytes() + sums.kept_bytes(), kLimit);
      if (random() % 3 > 0 || pushed.empty()) continue;
      const auto [first, values] = *pushed.begin();
      if (!push_size(sums, {first, 0}, 0, values)) continue;
      ASSERT_TRUE(pull(sums, {first, 0}, 0, values));
      ASSERT_TRUE(pull(sums, {first, 0}, 1, values));
      pushed.erase(first);
    }
  }
}

TEST(PartSums, AClaimBeyondTheLimitTakesNoMemory) {
  PartSums sums(2, 10'000);
  for (const std::size_t size : {std::size_t{2500}, std::size_t{1} << 40, std::size_t{1} << 62})
    expect_error(sums.begin_push({0, 0}, 0, size), ErrorCode::unavailable, {"do not fit"});
  EXPECT_EQ(sums.used_bytes(), 0U);
  EXPECT_LT(sums.kept_bytes(), 1000U);
}

TEST(PartSums, ARankThatIsGoneFailsThePartsThatNeedIt) {
  PartSums sums(3, kRoomy);
  const auto waiter = std::make_shared<CountingWaiter>(), own = std::make_shared<CountingWaiter>();
  PartKey key;
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(push_size(sums, {0, 0}, rank, 5));
  for (const int rank : {0, 1}) ASSERT_EQ(take(sums, rank).value().size(), 1U);
  ASSERT_TRUE(push_size(sums, {2, 0}, 1, 5));
  ASSERT_EQ(sums.take_sums(0, {&key, 1}, waiter).value(), 0U);
  ASSERT_EQ(sums.take_sums(1, {&key, 1}, own).value(), 0U);
  ASSERT_TRUE(push_size(sums, {1, 0}, 0, 5));
  auto half = std::make_unique<PartSummand>(sums.begin_push({1, 0}, 1, 5).value());
  sums.lose(1);
  const std::vector<std::string> gone = {"rank 1 is gone"};
  EXPECT_EQ(waiter->wakes, 1);
  EXPECT_EQ(own->wakes, 1);
  for (int times = 0; times < 2; ++times) {
    expect_error(take(sums, 0), ErrorCode::unavailable,
                 {"rank 1 is gone", "not pushed collective 1 at offset 0"});
    expect_error(take(sums, 1), ErrorCode::unavailable, gone);
  }
  expect_error(sums.finish_push(std::move(*half)), ErrorCode::unavailable, gone);
  half.reset();
  for (const std::uint64_t part : {1, 9})
    expect_error(push_size(sums, {part, 0}, 2, 5), ErrorCode::unavailable, gone);
  EXPECT_EQ(take(sums, 2).value(), (std::vector<PartKey>{{0, 0}})) << "rank 2 waits for nothing";
  for (const int rank : {0, 2}) EXPECT_TRUE(pull(sums, {0, 0}, rank, 5));
  for (const int rank : {0, 2}) ASSERT_TRUE(push_size(sums, {2, 0}, rank, 5));
  EXPECT_EQ(take(sums, 2).value(), (std::vector<PartKey>{{2, 0}})) << "rank 1 has pushed that";
  EXPECT_EQ(take(sums, 0).value(), (std::vector<PartKey>{{2, 0}})) << "sums come before the error";
  for (const int rank : {0, 2}) EXPECT_TRUE(pull(sums, {2, 0}, rank, 5));
  EXPECT_EQ(sums.used_bytes(), 0U);
}

TEST(PartSums, ARankThatHasLeftFailsThePartsThatNeedIt) {
  PartSums sums(2, kRoomy);
  sums.lose(0, "has left");
  expect_error(push_size(sums, {9, 0}, 1, 5), ErrorCode::unavailable, {"rank 0 has left"});
}

TEST(PartSums, WhatOneOfSeveralLostRanksMissesNamesTheFirst) {
  PartSums sums(3, kRoomy);
  for (const int rank : {0, 2}) ASSERT_TRUE(push_size(sums, {0, 0}, rank, 5));
  sums.lose(2);
  // Ends because it heard of rank 2.
  sums.lose(1);
  expect_error(take(sums, 0), ErrorCode::unavailable,
               {"rank 1 is gone and has not pushed collective 0", "rank 2 is gone since before"});
  expect_error(push_size(sums, {1, 0}, 0, 5), ErrorCode::unavailable,
               {"rank 2 is gone and has not pushed collective 1 at offset 0; see its output"});
}

TEST(PartSums, WhenARankIsGoneAtAnyTimeOthersGetTheSumOrItsName) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PartSums sums(3, kRoomy);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&sums, rank] {
        for (std::uint64_t part = 0; part < 8; ++part) {
          if (const auto pushed = push(sums, {part, 0}, rank, rank_values(part, rank, 100));
              !pushed)
            expect_error(pushed, ErrorCode::unavailable, {"rank 2 is gone"});
        }
        for (;;) {
          const auto keys = take(sums, rank);
          if (!keys) return expect_error(keys, ErrorCode::unavailable, {"rank 2 is gone"});
          if (keys->empty() && !sums.unfinished(rank, sums.pushes(rank))) return;
          for (const PartKey& key : *keys)
            expect_same_bits(pull(sums, key, rank, 100).value(),
                             sum_of_ranks(key.collective, 3, 100));
        }
      });
    }
    for (std::uint64_t part = 0, parts = random() % 8; part < parts; ++part)
      ASSERT_TRUE(push(sums, {part, 0}, 2, rank_values(part, 2, 100)));
    sums.lose(2);
    threads.clear();
    for (const int rank : {0, 1}) sums.lose(rank);
    ASSERT_EQ(sums.used_bytes(), 0U);
  }
}

TEST(PartSums, KnowsWhatIsUnfinishedAndWhoIsMissing) {
  PartSums sums(4, kRoomy);
  ASSERT_TRUE(push_size(sums, {4, 12}, 2, 5));
  ASSERT_TRUE(push_size(sums, {3, 0}, 2, 5));
  ASSERT_TRUE(push_size(sums, {4, 12}, 0, 5));
  EXPECT_EQ(sums.pushes(2), 2U);
  EXPECT_FALSE(sums.unfinished(2, 0)) << "none of the first 0";
  EXPECT_FALSE(sums.unfinished(1, 5)) << "rank 1 has pushed nothing";
  const auto first = sums.unfinished(2, 2);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->key, (PartKey{4, 12}));
  EXPECT_EQ(first->missing, (std::vector<int>{1, 3}));
  EXPECT_EQ(no_sum_in_time(*first, 2'500'000'000),
            (Error{ErrorCode::timed_out,
                   "waited 2500 ms for collective 4 at offset 12, which is not pushed by rank 1, "
                   "rank 3; see whether a rank is stuck, or raise the time limit"}));
  EXPECT_THAT(no_sum_in_time({{4, 12}, {}}, 1).message, HasSubstr("still being added"));
  for (const int rank : {1, 3}) ASSERT_TRUE(push_size(sums, {4, 12}, rank, 5));
  EXPECT_EQ(sums.unfinished(2, 2)->key, (PartKey{3, 0}));
  EXPECT_FALSE(sums.unfinished(2, 1));
}

}  // namespace
}  // namespace hocket
