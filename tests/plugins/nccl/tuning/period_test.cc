#include "plugins/nccl/tuning/period.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace hocket::nccl {
namespace {

constexpr std::int64_t kIterationNs = 100'000'000;

/// Adds `iterations` times the tokens, evenly over kIterationNs; returns the iterations found.
std::vector<CallIteration> train(PeriodFinder& finder, const std::vector<std::uint64_t>& tokens,
                                 int iterations, std::int64_t& now_ns) {
  std::vector<CallIteration> found;
  const auto each_ns = kIterationNs / static_cast<std::int64_t>(tokens.size());
  for (int i = 0; i < iterations; ++i) {
    for (const std::uint64_t token : tokens) {
      if (const auto ended = finder.add(token, now_ns)) found.push_back(*ended);
      now_ns += each_ns;
    }
  }
  return found;
}

/// Returns tokens that do not repeat within themselves: the last one is new.
std::vector<std::uint64_t> random_loop(std::mt19937& random) {
  std::vector<std::uint64_t> tokens(2 + random() % 60);
  for (auto& token : tokens) token = random() % 3;
  tokens.back() = 9;
  return tokens;
}

TEST(PeriodFinder, FindsTheIterationsOfALoop) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const auto tokens = random_loop(random);
    PeriodFinder finder;
    std::int64_t now_ns = 0;
    train(finder, tokens, 40, now_ns);
    ASSERT_EQ(finder.calls_per_iteration(), tokens.size()) << "round " << round;
    const auto found = train(finder, tokens, 10, now_ns);
    ASSERT_GE(found.size(), 9u);
    for (const CallIteration& iteration : found) {
      EXPECT_EQ(iteration.calls, tokens.size());
      EXPECT_NEAR(static_cast<double>(iteration.iteration_ns), kIterationNs, 100);
    }
    EXPECT_EQ(found[1].first_call, found[0].first_call + tokens.size());
  }
}

TEST(PeriodFinder, RunsOfEqualCallsAreNotIterations) {
  std::vector<std::uint64_t> tokens(30, 1);
  tokens.insert(tokens.end(), 30, 2);
  PeriodFinder finder;
  std::int64_t now_ns = 0;
  for (const CallIteration& iteration : train(finder, tokens, 12, now_ns))
    EXPECT_EQ(iteration.calls, 60u);
  EXPECT_EQ(finder.calls_per_iteration(), 60u);
}

TEST(PeriodFinder, ABeginningThatDiffersIsPassedOver) {
  std::vector<std::uint64_t> beginning(100), tokens{1, 2, 3, 4, 4};
  std::iota(beginning.begin(), beginning.end(), 100);
  PeriodFinder finder;
  std::int64_t now_ns = 0;
  EXPECT_TRUE(train(finder, beginning, 1, now_ns).empty());
  EXPECT_EQ(finder.calls_per_iteration(), 0u);
  train(finder, tokens, 100, now_ns);
  EXPECT_EQ(finder.calls_per_iteration(), 5u);
}

TEST(PeriodFinder, AnIterationWithOtherCallsIsDropped) {
  PeriodFinder finder;
  std::int64_t now_ns = 0;
  train(finder, {1, 2, 3}, 30, now_ns);
  ASSERT_EQ(finder.calls_per_iteration(), 3u);
  EXPECT_LE(train(finder, {7, 8}, 1, now_ns).size(), 1u);
  EXPECT_EQ(finder.calls_per_iteration(), 0u);
  train(finder, {1, 2, 3}, 300, now_ns);
  EXPECT_EQ(finder.calls_per_iteration(), 3u);
}

TEST(PeriodFinder, EqualCallsAreJoinedToTheLeastTime) {
  PeriodFinder finder;
  std::int64_t now_ns = 0;
  for (int i = 0; i < 200; ++i) finder.add(5, now_ns += 1'000'000);
  EXPECT_GE(finder.calls_per_iteration(), 20u);
  EXPECT_LE(finder.calls_per_iteration(), 22u);
}

TEST(PeriodFinder, BoundariesAreWhereIterationsBegin) {
  PeriodFinder finder;
  std::int64_t now_ns = 0;
  train(finder, {1, 2, 3, 4}, 30, now_ns);
  const auto found = train(finder, {1, 2, 3, 4}, 3, now_ns);
  ASSERT_FALSE(found.empty());
  const std::uint64_t begin = found.back().first_call;
  EXPECT_EQ(finder.next_boundary(begin + 5), begin + 8);
  EXPECT_EQ(finder.next_boundary(begin + 8), begin + 8);
}

}  // namespace
}  // namespace hocket::nccl
