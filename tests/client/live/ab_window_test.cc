#include "client/live/ab_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/host_noise.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

constexpr double kCurrentNs = 1e8;
#ifdef HOCKET_SANITIZED  // sanitized builds simulate ten times slower
constexpr int kRuns = 100;
#else
constexpr int kRuns = 400;
#endif

/// A job whose iteration times depend on the configuration, with noise.
struct SimulatedJob {
  double candidate = 1;   ///< time relative to the current configuration
  double noise = 0.02;    ///< sigma of a lognormal
  double stragglers = 0;  ///< share of iterations that take up to three times as long
  double memory = 0;      ///< share of the noise carried over to the next iteration
  /// Factor on the time, by the number of the iteration.
  std::function<double(int)> drift = [](int) { return 1.0; };
  AbWindowOptions options = {};
  int under_way = 0;  ///< iterations until a switch takes effect
  int calm = 0;       ///< iterations before the window that tell the noise

  struct Result {
    AbWindowVerdict verdict;
    int candidate_iterations = 0, iterations = 0;
    double cost = 0;  ///< excess time over the current configuration, in iterations
  };

  Result run(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    int count = 0;
    double state = 0;
    const auto iteration = [&](AbSide side) {
      double ns = kCurrentNs * (side == AbSide::candidate ? candidate : 1) * drift(count++);
      state = memory * state + std::sqrt(1 - memory * memory) * normal(random);
      ns *= std::exp(noise * state);
      if (uniform(random) < stragglers) ns *= 1 + 2 * uniform(random);
      return static_cast<std::int64_t>(ns);
    };
    AbWindowOptions its = options;
    std::vector<std::int64_t> before;
    for (int i = 0; i < calm; ++i) before.push_back(iteration(AbSide::current));
    its.noise = AbWindow::noise_of(before, its.block_iterations);
    before.clear();
    for (int i = 0; i < 20; ++i) before.push_back(iteration(AbSide::current));
    AbWindow window(its, before);
    Result result;
    std::deque<AbSide> ahead(static_cast<std::size_t>(under_way), AbSide::current);
    while (!window.verdict() && result.iterations < 10'000) {
      ahead.push_back(window.next());
      const AbSide side = ahead.front();
      ahead.pop_front();
      const auto ns = iteration(side);
      window.add(side, ns, under_way);
      ++result.iterations;
      result.candidate_iterations += side == AbSide::candidate;
      if (side == AbSide::candidate) result.cost += static_cast<double>(ns) / kCurrentNs - 1;
    }
    if (window.verdict()) result.verdict = *window.verdict();
    return result;
  }

  /// Returns the share of runs for which `holds`.
  double share(const std::function<bool(const Result&)>& holds) const {
    int count = 0;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) count += holds(run(seed));
    return static_cast<double>(count) / kRuns;
  }
};

bool kept(const SimulatedJob::Result& result) {
  return result.verdict.keep;
}

/// Windows of candidates that take `factor` of the current configuration's time, one after the
/// other in each of a few jobs on a noisy host.
struct NoisyWindows {
  int windows = 0, kept = 0, slower = 0, steps = 0;

  double kept_share() const { return static_cast<double>(kept) / windows; }
  double slower_share() const { return static_cast<double>(slower) / windows; }
};

NoisyWindows on_noisy_host(NoiseKind kind, double factor, std::uint64_t jobs) {
  NoisyWindows result;
  for (std::uint64_t job = 1; job <= jobs; ++job) {
    HostNoise noise(kind, job);
    std::vector<double> known;
    for (std::uint64_t i = 0; i < AbWindow::kCandidates; ++i) {
      std::vector<std::int64_t> before;
      for (std::size_t k = 0; k < AbWindow::kMostRecent; ++k) {
        before.push_back(static_cast<std::int64_t>(kCurrentNs * noise()));
      }
      AbWindow window({.noise = known, .seed = 1000 * job + i}, before);
      std::deque<AbSide> ahead(2, AbSide::current);  // steps until a switch takes effect
      while (!window.verdict()) {
        ahead.push_back(window.next());
        const AbSide side = ahead.front();
        ahead.pop_front();
        const double ns = kCurrentNs * noise() * (side == AbSide::candidate ? factor : 1);
        window.add(side, static_cast<std::int64_t>(ns));
        ++result.steps;
      }
      known = window.noise();
      ++result.windows;
      result.kept += window.verdict()->keep;
      result.slower += window.verdict()->slower;
    }
  }
  return result;
}

TEST(AbWindow, EqualCandidatesAreEqualUnderTheNoiseOfHosts) {
  for (const NoiseKind kind : kHostNoise) {
    SCOPED_TRACE(to_string(kind));
    const auto result = on_noisy_host(kind, 1, rounds(40));
    // Three standard errors above what is permitted.
    const double share = AbWindow::kSearchError / AbWindow::kCandidates;
    const double most = share + 3 * std::sqrt(share / result.windows);
    EXPECT_LE(result.kept_share(), most);
    EXPECT_LE(result.slower_share(), most);
    EXPECT_LE(result.steps / result.windows, 150);
  }
}

TEST(AbWindow, AGainOfFivePercentIsFoundUnderTheNoiseOfHosts) {
  for (const NoiseKind kind : kHostNoise) {
    SCOPED_TRACE(to_string(kind));
    const bool has_outliers = kind == NoiseKind::bursts || kind == NoiseKind::stragglers;
    const auto result = on_noisy_host(kind, 0.95, rounds(10));
    EXPECT_GE(result.kept_share(), has_outliers ? 0.8 : 0.95);
    EXPECT_EQ(result.slower, 0);
    EXPECT_LE(result.steps / result.windows, 300);
  }
}

TEST(AbWindow, WhatIsFivePercentSlowerIsNeverKeptUnderTheNoiseOfHosts) {
  for (const NoiseKind kind : kHostNoise) {
    SCOPED_TRACE(to_string(kind));
    EXPECT_EQ(on_noisy_host(kind, 1.05, rounds(10)).kept, 0);
  }
}

/// Returns the mean number of iterations of windows in which the candidate takes 0.9 of the time,
/// on a host with independent noise of 5 %.
double iterations_to_keep(const std::vector<double>& known) {
  constexpr int kWindows = 100;
  int iterations = 0;
  HostNoise noise(NoiseKind::independent, 7);
  const auto time = [&](double factor) {
    return static_cast<std::int64_t>(kCurrentNs * factor * noise());
  };
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    std::vector<std::int64_t> before;
    for (int k = 0; k < 10; ++k) before.push_back(time(1));
    AbWindow window({.noise = known, .seed = i}, before);
    for (; !window.verdict(); ++iterations) {
      const AbSide side = window.next();
      window.add(side, time(side == AbSide::candidate ? 0.9 : 1));
    }
  }
  return static_cast<double>(iterations) / kWindows;
}

TEST(AbWindow, WhoseNoiseIsKnownFromWindowsBeforeIsShorter) {
  const std::vector<double> small = {0.02, -0.02, 0.04, -0.04, 0.03, -0.03, 0.01, -0.01,
                                     0.02, -0.02, 0.04, -0.04, 0.03, -0.03, 0.01, -0.01};
  EXPECT_LT(iterations_to_keep(small), 0.6 * iterations_to_keep({}));
}

TEST(AbWindow, HandsOnByHowMuchTheGainsOfItsGroupsDiffer) {
  const std::vector<std::int64_t> before(8, 1000);
  const std::vector<double> known(40, 0.5);
  AbWindow window({.noise = known}, before);
  EXPECT_EQ(window.noise(), known) << "it has measured nothing yet";
  while (!window.verdict()) window.add(window.next(), 1000);
  const auto noise = window.noise();
  EXPECT_EQ(noise.size(), 32u);
  EXPECT_EQ(noise.front(), 0.5);
  EXPECT_EQ(noise.back(), 0);
}

TEST(AbWindow, TheNoiseOfIterationsInARowIsThatOfGroupsWithoutACandidate) {
  EXPECT_TRUE(AbWindow::noise_of(std::vector<std::int64_t>(7, 1000), 2).empty());
  EXPECT_EQ(AbWindow::noise_of(std::vector<std::int64_t>(20, 1000), 2),
            (std::vector<double>{0, 0}));
  std::vector<std::int64_t> rising;
  for (double log = 10; log < 10.8; log += 0.01)
    rising.push_back(std::llround(1e6 * std::exp(log)));
  for (const double gain : AbWindow::noise_of(rising, 2))
    EXPECT_NEAR(gain, 0, 1e-6) << "a slow change cancels out";
  const std::vector<std::int64_t> one_slow = {9, 1100, 1100, 1000, 1000, 1000, 1000, 1000, 1000};
  EXPECT_THAT(AbWindow::noise_of(one_slow, 2),
              testing::ElementsAre(testing::DoubleNear(std::log(1.1) / 2, 1e-9)));
}

TEST(AbWindow, TheFirstWindowOfAQuietJobKeepsALargeGainSoon) {
  SimulatedJob job{.candidate = 0.85, .noise = 0.01};
  job.options.usual_iterations = 40;
  job.calm = 24;
  EXPECT_GE(job.share(kept), 0.99);
  EXPECT_GE(job.share([](const auto& result) { return result.iterations <= 60; }), 0.95);
  job.candidate = 1;
  EXPECT_LE(job.share(kept), 0.01);
}

TEST(AbWindow, UsualIterationsEndAWindowThatIsNotAboutToBeDecided) {
  SimulatedJob job{.noise = 0.05};
  job.options.usual_iterations = 40;
  const auto is_short = [](const auto& result) { return result.iterations <= 56; };
  EXPECT_GE(job.share(is_short), 0.95);
  // The next looks find 10 % at times, and forty iterations never do.
  job.candidate = 0.9;
  EXPECT_GE(job.share(kept), 0.25);
}

TEST(AbWindow, EndsWithTheFirstGroupAfterMostIterations) {
  const SimulatedJob job{.noise = 0.3, .options = {.most_iterations = 40}};
  EXPECT_EQ(job.share([](const auto& result) { return result.iterations <= 56; }), 1);
}

TEST(AbWindow, ANoiseThatIsNotKnownHasNoFigure) {
  const SimulatedJob job{.noise = 0.3, .options = {.most_iterations = 1}};
  int unknown = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::string text = job.run(seed).verdict.reason;
    unknown += text.ends_with(", after too few iterations to tell the noise") ? 1 : 0;
    const auto within = text.find(", within the noise of ");
    if (within == std::string::npos) continue;
    EXPECT_LT(std::stod(text.substr(within + 22)), 100) << text;
  }
  EXPECT_GT(unknown, 0);
}

TEST(AbWindow, SeldomKeepsAnEqualCandidateAndSpendsLittleOnIt) {
  for (const double noise : {0.005, 0.02, 0.1}) {
    for (const double stragglers : {0.0, 0.05}) {
      for (const int under_way : {0, 4}) {
        SCOPED_TRACE(testing::Message() << noise << ' ' << stragglers << ' ' << under_way);
        const SimulatedJob job{.noise = noise, .stragglers = stragglers, .under_way = under_way};
        EXPECT_LE(job.share(kept), 0.005);
        EXPECT_LE(job.share([](const auto& r) { return r.verdict.slower; }), 0.005);
        EXPECT_EQ(job.share([](const auto& r) { return r.iterations <= 500; }), 1);
        if (noise > 0.02 || stragglers > 0) continue;
        EXPECT_GE(job.share([](const auto& r) { return r.iterations <= 90; }), 0.9);
      }
    }
  }
}

TEST(AbWindow, DropsACandidateOfTwiceTheTimeAtOnce) {
  for (const double noise : {0.02, 0.1}) {
    const SimulatedJob job{.candidate = 2, .noise = noise};
    EXPECT_GE(job.share([](const auto& r) {
      return r.verdict.slower && !r.verdict.keep && r.candidate_iterations <= 3;
    }),
              noise < 0.1 ? 0.99 : 0.85)
        << noise;
    EXPECT_GE(job.share([](const auto& r) { return r.candidate_iterations <= 9; }), 0.95);
    EXPECT_EQ(job.share(kept), 0);
  }
}

TEST(AbWindow, KeepsACandidateThatIsATenthFaster) {
  for (const int under_way : {0, 4}) {
    const SimulatedJob job{.candidate = 0.9, .under_way = under_way};
    EXPECT_GE(job.share(kept), 0.99) << under_way;
    EXPECT_GE(job.share([](const auto& r) { return r.iterations <= 120; }), 0.95);
  }
}

TEST(AbWindow, KeepsASmallGainThatIsAboveTheNoise) {
  const SimulatedJob job{.candidate = 0.95, .noise = 0.03, .stragglers = 0.02};
  EXPECT_GE(job.share(kept), 0.75);
}

TEST(AbWindow, NoiseThatLastsIsSeldomTakenForAGain) {
  for (const double memory : {0.5, 0.8, 0.95}) {
    EXPECT_LE((SimulatedJob{.noise = 0.05, .memory = memory}).share(kept), 0.005) << memory;
  }
}

TEST(AbWindow, SoonDropsWhatIsALittleSlower) {
  const SimulatedJob job{.candidate = 1.1};
  EXPECT_EQ(job.share(kept), 0);
  EXPECT_GE(job.share([](const auto& r) { return r.candidate_iterations <= 16; }), 0.95);
}

TEST(AbWindow, ADriftOfBothIsSeldomTakenForAGain) {
  const auto jump = [](int i) { return i < 33 ? 1.0 : 1.3; };
  const auto fall = [](int i) { return i < 33 ? 1.3 : 1.0; };
  const auto slope = [](int i) { return 1 - 0.002 * i; };
  for (const auto& drift : {std::function<double(int)>(jump), std::function<double(int)>(fall),
                            std::function<double(int)>(slope)}) {
    EXPECT_LE((SimulatedJob{.drift = drift}).share(kept), 0.005);
    EXPECT_LE((SimulatedJob{.candidate = 1.1, .drift = drift}).share(kept), 0.005);
  }
}

TEST(AbWindow, APushIsKeptUnlessItIsSlower) {
  const AbWindowOptions push{.keep_undecided = true};
  EXPECT_GE((SimulatedJob{.options = push}).share(kept), 0.9);
  EXPECT_GE((SimulatedJob{.candidate = 0.95, .options = push}).share(kept), 0.98);
  EXPECT_LE((SimulatedJob{.candidate = 1.15, .options = push}).share(kept), 0.02);
}

TEST(AbWindow, WhatIsWithinTheNoiseIsNotAboveIt) {
  for (const double candidate : {0.9, 0.97, 1.0, 1.03, 1.15}) {
    const SimulatedJob job{.candidate = candidate, .noise = 0.2};
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
      const std::string text = job.run(seed).verdict.reason;
      const auto within = text.find(", within the noise of ");
      if (within == std::string::npos) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text);
      EXPECT_LE(std::stod(text), std::stod(text.substr(within + 22)));
    }
  }
}

TEST(AbWindow, ASingleEndlessIterationEndsIt) {
  const std::vector<std::int64_t> before(8, 100);
  AbWindow window({.longest_ns = 1000}, before);
  window.add(AbSide::current, 2000);
  EXPECT_FALSE(window.verdict());
  window.add(AbSide::candidate, 1001);
  ASSERT_TRUE(window.verdict());
  EXPECT_FALSE(window.verdict()->keep);
  EXPECT_EQ(window.next(), AbSide::current);
  EXPECT_EQ(window.candidate_ns(), std::vector<std::int64_t>{1001});
}

TEST(AbWindow, WaitsForTheSwitchWhateverRunsUntilThen) {
  const std::vector<std::int64_t> before(8, 100);
  AbWindow window({}, before);
  for (int i = 0; i < 8; ++i) window.add(AbSide::current, 100);
  EXPECT_EQ(window.next(), AbSide::candidate);
}

/// Returns the sides that run, as letters, and feeds the window with times of either side.
std::string run_of(AbWindow& window, std::int64_t current_ns, std::int64_t candidate_ns,
                   int most = 1000) {
  std::string ran;
  for (int i = 0; i < most && !window.verdict(); ++i) {
    const AbSide side = window.next();
    ran += side == AbSide::current ? 'c' : 'k';
    window.add(side, (side == AbSide::current ? current_ns : candidate_ns) + i % 3);
  }
  return ran;
}

TEST(AbWindow, TakesBlocksInGroupsAndDropsTheFirstOfEach) {
  const std::vector<std::int64_t> before(8, 1000);
  AbWindow window({.block_iterations = 2}, before);
  const std::string ran = run_of(window, 1000, 800);
  ASSERT_TRUE(window.verdict());
  EXPECT_TRUE(window.verdict()->keep) << window.verdict()->reason;
  // The first current block is from before the window.
  EXPECT_EQ(ran.substr(0, 8), "kkkkkccc");
  // Each group has as many iterations of either side, but for those dropped.
  EXPECT_EQ(window.candidate_ns().size() % 4, 0u);
  EXPECT_EQ(window.current_ns().size(), window.candidate_ns().size());
}

TEST(AbWindow, ACoinOrdersTheBlocksOfLaterGroups) {
  const std::vector<std::int64_t> before(8, 1000);
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    AbWindow window({.seed = seed}, before), again({.seed = seed}, before);
    const std::string ran = run_of(window, 1000, 950, 60);
    EXPECT_EQ(run_of(again, 1000, 950, 60), ran) << "equal seeds, equal orders";
    orders.insert(ran);
  }
  EXPECT_GE(orders.size(), 4u);
}

TEST(AbWindow, ASlowCandidateIsLeftAtOnceAndDroppedIfTheOtherIsFastOnBothSides) {
  const std::vector<std::int64_t> before(8, 1000);
  AbWindow window({}, before);
  EXPECT_EQ(run_of(window, 1000, 1600), "kkkccc");
  ASSERT_TRUE(window.verdict());
  EXPECT_TRUE(window.verdict()->slower);
  EXPECT_EQ(window.verdict()->reason.substr(0, 10), "slower by ");
}

TEST(AbWindow, ABurstThatBeginsWithTheCandidateIsNotItsFault) {
  const std::vector<std::int64_t> before(8, 1000);
  for (const int length : {7, 12, 40}) {
    SCOPED_TRACE(length);
    AbWindow window({}, before);
    for (int i = 0; !window.verdict() && i < 1000; ++i) {
      window.add(window.next(), (i < length ? 1600 : 1000) + i % 3);
    }
    ASSERT_TRUE(window.verdict());
    EXPECT_FALSE(window.verdict()->slower) << window.verdict()->reason;
    EXPECT_FALSE(window.verdict()->keep) << window.verdict()->reason;
  }
}

TEST(AbWindow, WhatIsAQuarterSlowerNeedsTwoBlocksInTurn) {
  const std::vector<std::int64_t> before(8, 1000);
  AbWindow window({}, before);
  const std::string ran = run_of(window, 1000, 1300);
  ASSERT_TRUE(window.verdict());
  EXPECT_TRUE(window.verdict()->slower);
  EXPECT_EQ(ran.substr(0, 6), "kkkccc");
  EXPECT_GT(ran.size(), 9u);
  EXPECT_LE(window.candidate_ns().size(), 4u);
}

TEST(AbWindow, EndsHoweverLongASwitchTakes) {
  for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
    for (const int under_way : {0, 1, 2, 4}) {
      for (const int unknown : {0, 1, 2, 5}) {
        for (const double factor : {1.0, 1.24, 1.33, 2.0}) {
          SCOPED_TRACE(testing::Message()
                       << seed << ' ' << under_way << ' ' << unknown << ' ' << factor);
          HostNoise noise(NoiseKind::quiet, seed);
          const auto time = [&](double of) {
            return static_cast<std::int64_t>(kCurrentNs * of * noise());
          };
          std::vector<std::int64_t> before;
          for (int i = 0; i < 10; ++i) before.push_back(time(1));
          AbWindow window({.seed = seed}, before);
          std::deque<AbSide> ahead(static_cast<std::size_t>(under_way + unknown), AbSide::current);
          int count = 0;
          for (; count < 1000 && !window.verdict(); ++count) {
            ahead.push_back(window.next());
            const AbSide side = ahead.front();
            ahead.pop_front();
            window.add(side, time(side == AbSide::candidate ? factor : 1), under_way);
          }
          ASSERT_TRUE(window.verdict());
          if (factor != 1.24) {
            ASSERT_EQ(window.verdict()->slower, factor > 1) << window.verdict()->reason;
          }
        }
      }
    }
  }
}

TEST(AbWindow, ANoisyWindowWhoseSwitchesTakeLongEndsAllTheSame) {
  const SimulatedJob job{.noise = 0.3, .under_way = 20};
  const auto group = static_cast<int>(4 * (job.under_way + job.options.block_iterations + 1));
  const auto most = static_cast<int>(job.options.most_iterations) + group;
  EXPECT_EQ(job.share([&](const auto& result) { return result.iterations <= most; }), 1);
}

TEST(AbWindow, IterationsUntilASwitchTakesEffectBelongToTheirBlock) {
  const std::vector<std::int64_t> before(8, 1000);
  AbWindow window({}, before);
  // A single slow iteration in each block of two would be half of it; of five it is an outlier.
  std::deque<AbSide> ahead(3, AbSide::current);
  int run = 0;
  AbSide last = AbSide::current;
  for (int i = 0; !window.verdict() && i < 1000; ++i) {
    ahead.push_back(window.next());
    const AbSide side = ahead.front();
    ahead.pop_front();
    run = side == last ? run + 1 : 1;
    last = side;
    const std::int64_t usual = side == AbSide::candidate ? 900 : 1000;
    window.add(side, (run == 2 ? usual * 3 / 2 : usual) + i % 3);
  }
  ASSERT_TRUE(window.verdict());
  EXPECT_TRUE(window.verdict()->keep) << window.verdict()->reason;
}

}  // namespace
}  // namespace hocket
