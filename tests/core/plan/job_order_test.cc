// Tests the rule of job_order.h against a model of ranks that begin communications in order: all
// small jobs, and random ones with dependencies and limits. The model has no times: what it may do
// next it does in a random order.

#include "core/plan/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A job of the model.
struct ModelJob {
  std::vector<std::vector<std::size_t>> ranks;  ///< by communication, at least one each
  std::vector<JobOrder> begun;                  ///< by rank
  /// By rank and communication, those of its own that must have ended before the rank begins it.
  std::vector<std::vector<JobOrder>> needs;
};

/// Runs the job; returns how many communications have ended when nothing can happen any more.
std::size_t run(const ModelJob& job, std::size_t limit, std::mt19937_64& random) {
  std::vector<std::size_t> next(job.begun.size()), under_way(job.begun.size());
  std::vector<std::size_t> begun_by(job.ranks.size());
  std::vector<bool> ended(job.ranks.size());
  std::size_t count = 0;
  for (;;) {
    // Ranks that may begin, then communications that may end.
    std::vector<std::size_t> actions;
    for (std::size_t rank = 0; rank < job.begun.size(); ++rank) {
      if (next[rank] == job.begun[rank].size() || under_way[rank] == limit) continue;
      const auto& needs = job.needs[rank][job.begun[rank][next[rank]]];
      if (std::ranges::all_of(needs, [&](std::uint32_t other) { return ended[other]; }))
        actions.push_back(rank);
    }
    for (std::size_t i = 0; i < ended.size(); ++i) {
      if (!ended[i] && begun_by[i] == job.ranks[i].size()) actions.push_back(job.begun.size() + i);
    }
    if (actions.empty()) return count;
    const std::size_t action = actions[random() % actions.size()];
    if (action < job.begun.size()) {
      ++begun_by[job.begun[action][next[action]++]];
      ++under_way[action];
    } else {
      const std::size_t done = action - job.begun.size();
      ended[done] = true;
      ++count;
      for (const std::size_t rank : job.ranks[done]) --under_way[rank];
    }
  }
}

void expect_rule(const ModelJob& job, std::mt19937_64& random) {
  const std::size_t count = job.ranks.size();
  const auto found = find_job_order(job.begun, count);
  if (const auto* order = std::get_if<JobOrder>(&found)) {
    // It is one order, and has each rank's as a part.
    std::vector<std::size_t> place(count, count);
    for (std::size_t i = 0; i < order->size(); ++i) place[(*order)[i]] = i;
    ASSERT_EQ(std::set<std::size_t>(place.begin(), place.end()).size(), count);
    for (const JobOrder& begun : job.begun) {
      ASSERT_TRUE(std::ranges::is_sorted(begun, {}, [&](std::uint32_t i) { return place[i]; }));
    }
    for (const std::size_t limit : {1u, 2u, 5u}) ASSERT_EQ(run(job, limit, random), count);
    return;
  }
  const auto& circle = std::get<OrderCircle>(found);
  ASSERT_GE(circle.size(), 2u);
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const OrderConflict& step = circle[i];
    const auto& begun = job.begun[static_cast<std::size_t>(step.rank)];
    const auto before = std::ranges::find(begun, step.before);
    ASSERT_NE(before, begun.end());
    ASSERT_NE(std::find(before, begun.end(), step.after), begun.end());
    ASSERT_EQ(step.after, circle[(i + 1) % circle.size()].before);
  }
  ASSERT_LT(run(job, 1, random), count) << "a circle that does no harm";
}

/// The communications' ranks decide what each rank begins; `shuffle` puts that into an order.
ModelJob job_of(std::vector<std::vector<std::size_t>> ranks, std::size_t world) {
  ModelJob job{std::move(ranks), std::vector<JobOrder>(world), {}};
  job.needs.assign(world, std::vector<JobOrder>(job.ranks.size()));
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i)
    for (const std::size_t rank : job.ranks[i]) job.begun[rank].push_back(i);
  return job;
}

/// Visits every way in which the ranks from `rank` on can order what they begin.
void visit_orders(ModelJob& job, std::size_t rank, std::mt19937_64& random, std::size_t& visited) {
  if (rank == job.begun.size()) {
    ++visited;
    return expect_rule(job, random);
  }
  std::ranges::sort(job.begun[rank]);
  do {
    visit_orders(job, rank + 1, random, visited);
    if (testing::Test::HasFatalFailure()) return;
  } while (std::ranges::next_permutation(job.begun[rank]).found);
}

TEST(JobOrder, HoldsForAllJobsOfThreeRanksAndUpToFourCommunications) {
  const std::vector<std::vector<std::size_t>> groups{{0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  std::mt19937_64 random(1);
  std::size_t visited = 0;
  for (std::size_t count = 1; count <= 4; ++count) {
    std::size_t jobs = 1;
    for (std::size_t i = 0; i < count; ++i) jobs *= groups.size();
    for (std::size_t number = 0; number < jobs; ++number) {
      std::vector<std::vector<std::size_t>> ranks;
      for (std::size_t i = 0, rest = number; i < count; ++i, rest /= groups.size())
        ranks.push_back(groups[rest % groups.size()]);
      // Groups in another order are the same job under other numbers.
      if (!std::ranges::is_sorted(ranks)) continue;
      ModelJob job = job_of(ranks, 3);
      visit_orders(job, 0, random, visited);
      ASSERT_FALSE(HasFatalFailure()) << count << " communications, job " << number;
    }
  }
  EXPECT_EQ(visited, 37'850u);
}

/// Two to eight ranks, whose orders are those of one job with some neighbours exchanged, and what
/// depends on what.
ModelJob random_job(std::mt19937_64& random) {
  const auto below = [&](std::size_t end) { return random() % end; };
  const std::size_t world = 2 + below(7), count = 1 + below(12);
  std::vector<std::vector<std::size_t>> ranks(count);
  for (auto& of : ranks) {
    std::vector<std::size_t> all(world);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::ranges::shuffle(all, random);
    all.resize(1 + below(world));
    of = all;
  }
  ModelJob job = job_of(std::move(ranks), world);
  const bool is_mixed = below(2) == 0;
  for (std::size_t rank = 0; rank < world; ++rank) {
    JobOrder& begun = job.begun[rank];
    for (std::size_t i = 1; i < begun.size(); ++i) {
      if (is_mixed && below(8) == 0) std::swap(begun[i - 1], begun[i]);
    }
    for (std::size_t i = 0; i < begun.size(); ++i) {
      for (std::size_t before = 0; before < i; ++before)
        if (below(6) == 0) job.needs[rank][begun[i]].push_back(begun[before]);
    }
  }
  return job;
}

TEST(JobOrder, HoldsForRandomJobsWithDependenciesAndLimits) {
  std::size_t circles = 0;
  const std::uint64_t jobs = rounds(20'000);
  for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const ModelJob job = random_job(random);
    expect_rule(job, random);
    ASSERT_FALSE(HasFatalFailure());
    circles += std::holds_alternative<OrderCircle>(find_job_order(job.begun, job.ranks.size()));
  }
  // Both answers are common.
  EXPECT_GT(circles, jobs / 20);
  EXPECT_LT(circles, jobs - jobs / 4);
}

TEST(JobOrder, TheCircleWithTheFewestRanksIsShown) {
  const std::vector<JobOrder> begun{{0, 1}, {1, 2}, {2, 3, 0}, {3, 2}};
  const auto found = find_job_order(begun, 4);
  EXPECT_THAT(std::get<OrderCircle>(found),
              ElementsAre(OrderConflict{2, 2, 3}, OrderConflict{3, 3, 2}));
  EXPECT_THAT(std::get<JobOrder>(find_job_order({}, 0)), IsEmpty());
}

}  // namespace
}  // namespace hocket
