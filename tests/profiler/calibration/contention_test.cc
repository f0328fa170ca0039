#include "profiler/calibration/contention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hocket {
namespace {

/// Draws profiled steps in which communication slows computation by `slowdown`. Task t is beside
/// communication for the share share_of(step, t) of its time.
template <class ShareOf>
std::vector<ProfiledStep> steps_with(double slowdown, double noise, int steps, int tasks,
                                     std::mt19937_64& random, ShareOf share_of) {
  std::normal_distribution<double> scatter(0, noise);
  std::vector<ProfiledStep> profiled;
  for (int s = 0; s < steps; ++s) {
    ProfiledStep& step = profiled.emplace_back();
    for (int t = 0; t < tasks; ++t) {
      ProfiledTask& task = step.tasks.emplace_back();
      task.name = "gemm " + std::to_string(t % 3);
      const double alone = 1e6 * (1 + t % 3) * std::exp(scatter(random));
      const double share = share_of(s, t);
      // The share s of the duration d ran slower: a = d (1 − s + s / (1 + γ)).
      const double duration = alone / (1 - share + share / (1 + slowdown));
      task.duration_ns = std::llround(duration);
      task.beside_ns = std::llround(duration * share);
    }
  }
  return profiled;
}

TEST(Contention, IsFoundWithinAFifthFromTasksWhoseShareChanges) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> any(0, 1);
    const double slowdown = 0.1 + 0.5 * any(random);
    const auto steps =
        steps_with(slowdown, 0.01, 12, 9, random, [&](int, int) { return any(random); });
    const auto found = estimate_contention(steps);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->is_between_tasks);
    EXPECT_NEAR(found->slowdown, slowdown, 0.2 * slowdown + 0.01);
  }
}

TEST(Contention, IsFoundFromTasksOfOneNameWhereEachIsAlwaysAloneOrAlwaysBeside) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto steps =
        steps_with(0.35, 0.02, 5, 24, random, [](int, int t) { return t < 12 ? 0.0 : 1.0; });
    const auto found = estimate_contention(steps);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_between_tasks);
    EXPECT_NEAR(found->slowdown, 0.35, 0.05);
  }
}

TEST(Contention, TasksOfOneNameThatDoOtherWorkAreNoEvidence) {
  std::mt19937_64 random(7);
  auto steps = steps_with(0, 0.01, 5, 24, random, [](int, int t) { return t < 12 ? 0.0 : 1.0; });
  std::uniform_real_distribution<double> size(0.3, 3);
  std::vector<double> factors;
  for (int t = 0; t < 24; ++t) factors.push_back(size(random));
  for (ProfiledStep& step : steps) {
    for (std::size_t t = 0; t < step.tasks.size(); ++t) {
      ProfiledTask& task = step.tasks[t];
      task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * factors[t]);
      task.beside_ns = task.beside_ns == 0 ? 0 : task.duration_ns;
    }
  }
  EXPECT_FALSE(estimate_contention(steps));
}

TEST(Contention, NothingIsFoundWithoutAContrast) {
  std::mt19937_64 random(1);
  EXPECT_FALSE(estimate_contention({}));
  EXPECT_FALSE(
      estimate_contention(steps_with(0.4, 0.01, 10, 9, random, [](int, int) { return 1.0; })));
}

TEST(Contention, WithoutASlowDownItIsAboutZero) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> any(0, 1);
  const auto found = estimate_contention(
      steps_with(0, 0.02, 20, 9, random, [&](int, int) { return any(random); }));
  ASSERT_TRUE(found);
  EXPECT_LT(found->slowdown, 0.02);
}

}  // namespace
}  // namespace hocket
