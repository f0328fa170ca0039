#include "client/live/job_progress.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace hocket {
namespace {

constexpr double kIterationNs = 1000;

/// Returns `entries` counted steps in which the ranks wait so long.
std::deque<CountedSteps> steps_of(const std::vector<std::int64_t>& waited_ns,
                                  std::size_t entries = kFewestCountedSteps) {
  CountedSteps counted;
  for (const std::int64_t ns : waited_ns) counted.ranks.push_back({.waited_ns = ns});
  return std::deque<CountedSteps>(entries, counted);
}

TEST(JobProgress, ExposedIsWhatTheRankThatWaitsLeastWaits) {
  EXPECT_EQ(waiting_of(steps_of({310, 330}), kIterationNs), (Waiting{.exposed_ns = 310}));
  EXPECT_EQ(waiting_of(steps_of({0, 0, 0}), kIterationNs), Waiting{});
}

TEST(JobProgress, ARankIsLateWhereTheOthersWaitForItInMostSteps) {
  const auto late = waiting_of(steps_of({210, 10, 190, 230}), kIterationNs);
  EXPECT_EQ(late, (Waiting{.exposed_ns = 10, .late_rank = 1, .late_ns = 200}));
  // Ranks that are late in turns are not late.
  auto in_turns = steps_of({200, 0});
  for (std::size_t i = 0; i < in_turns.size(); i += 2)
    std::swap(in_turns[i].ranks[0], in_turns[i].ranks[1]);
  EXPECT_EQ(waiting_of(in_turns, kIterationNs), (Waiting{.exposed_ns = 100}));
  // A single long wait does not make its rank late.
  auto once = steps_of({0, 0});
  once.back().ranks[1].waited_ns = 100'000;
  EXPECT_EQ(waiting_of(once, kIterationNs), Waiting{});
}

TEST(JobProgress, NothingIsSaidWhereTooLittleIsKnown) {
  EXPECT_EQ(waiting_of(steps_of({100, 1}, kFewestCountedSteps - 1), kIterationNs), std::nullopt);
  EXPECT_EQ(waiting_of(steps_of({100}), kIterationNs), std::nullopt) << "one rank";
  EXPECT_EQ(waiting_of(steps_of({100, kNotCounted}), kIterationNs), std::nullopt);
  EXPECT_EQ(waiting_of(steps_of({100, 1}), 0), std::nullopt);
  auto other_ranks = steps_of({100, 1});
  other_ranks.back().ranks.pop_back();
  EXPECT_EQ(waiting_of(other_ranks, kIterationNs), std::nullopt);
}

TEST(JobProgress, ItsJsonHasOnlyWhatIsKnown) {
  JobProgress progress{.step = 7, .iteration_ns = 200, .explored = 0.5, .tried = 3, .kept = 1};
  nlohmann::json expected = {
      {"step", 7}, {"iteration_ns", 200.0}, {"explored_share", 0.5}, {"tried", 3}, {"kept", 1}};
  EXPECT_EQ(to_json(progress), expected);
  progress.waiting = {.exposed_ns = 50};
  expected["exposed_share"] = 0.25;
  EXPECT_EQ(to_json(progress), expected);
  progress.waiting->late_rank = 0;
  progress.waiting->late_ns = 20;
  expected["late_rank"] = 0;
  expected["late_ns"] = 20.0;
  EXPECT_EQ(to_json(progress), expected);
}

}  // namespace
}  // namespace hocket
