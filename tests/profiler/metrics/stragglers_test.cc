#include "profiler/metrics/stragglers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "core/sim/simulator.h"
#include "profiler/metrics/straggler_input.h"
#include "tests/profiler/metrics/planted_job.h"
#include "tests/profiler/simulated_trace.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

Stragglers found_in(const PlantedJob& job, std::mt19937_64& random, ArrivalClock clock) {
  const auto planted = PlantedRun(job, random).run();
  return find_stragglers(straggler_input(planted.traces, planted.fits, clock));
}

std::string text_of(const Stragglers& found) {
  auto document = to_json(found);
  document.erase("collectives");
  auto ranks = nlohmann::json::array();
  for (const auto& rank : document["ranks"]) {
    if (rank["pattern"] != "none") ranks.push_back(rank);
  }
  document["ranks"] = ranks;
  return document.dump();
}

bool blames(const Stragglers& found, std::int64_t rank, StragglerCause cause,
            StragglerPattern pattern) {
  for (const StragglerRank& of : found.ranks) {
    const bool is_it = of.rank == rank;
    if (is_it != (of.pattern != StragglerPattern::none)) return false;
    if (is_it && (of.cause != cause || of.pattern != pattern)) return false;
  }
  return found.verdict == StragglerVerdict::late_ranks;
}

/// A planted delay of `by_ns` a step, as a part of the step.
struct Plant {
  StragglerCause cause = StragglerCause::computation;
  StragglerPattern pattern = StragglerPattern::persistent;
};

PlantedDelay delay_of(StragglerCause cause, double by_ns, const PlantedJob& job) {
  PlantedDelay delay;
  if (cause == StragglerCause::computation)
    delay.compute_scale = 1 + by_ns / (1.5 * job.layers * job.task_ns);
  if (cause == StragglerCause::host) delay.launch_ns = by_ns;
  if (cause == StragglerCause::data) delay.data_ns = by_ns;
  if (cause == StragglerCause::link) delay.transfer_ns = by_ns;
  return delay;
}

/// Returns the time that a job takes on rank 0's clock.
double job_ns(const PlantedTraces& job) {
  const auto& starts = job.traces.front().step_starts;
  return static_cast<double>(starts.back().begin_ns - starts.front().begin_ns);
}

/// A job with a late rank.
struct PlantedCase {
  PlantedJob job;
  int late = 0;
  PlantedTraces planted;
};

/// Returns a job that the plant makes slower by a fortieth or more; a rank whose delay is hidden
/// behind communication keeps nobody waiting.
PlantedCase planted_case(const Plant& plant, std::mt19937_64& random, ArrivalClock clock) {
  for (;;) {
    PlantedCase made{.job = random_planted_job(random), .planted = {}};
    PlantedJob& job = made.job;
    made.late = std::uniform_int_distribution<int>(0, job.ranks - 1)(random);
    const double by_ns = step_ns(job) * std::uniform_real_distribution<double>(0.06, 0.4)(random);
    const int period = std::uniform_int_distribution<int>(4, 6)(random);
    const bool in_some_steps =
        plant.pattern == StragglerPattern::periodic || plant.pattern == StragglerPattern::bursts;
    if (in_some_steps) job.steps = 90;
    job.clock_error_ns = clock == ArrivalClock::common ? step_ns(job) * 0.001 : 1e8;
    std::vector<bool> in_burst;
    for (int step = 0; step <= job.steps; ++step) in_burst.push_back(random() % 5 == 0);
    const auto amount_ns = [=, steps = job.steps](int step) {
      if (plant.pattern == StragglerPattern::bursts)
        return in_burst[static_cast<std::size_t>(step)] ? by_ns * 5 : 0;
      if (plant.pattern == StragglerPattern::growing) return by_ns * 2 * step / steps;
      if (plant.pattern == StragglerPattern::shrinking) return by_ns * 2 * (steps - step) / steps;
      if (plant.pattern == StragglerPattern::periodic)
        return step % period == 0 ? by_ns * period : 0;
      return by_ns;
    };
    auto same = random;
    const double without_ns = job_ns(PlantedRun(job, same).run());
    job.delay = [=, like = job, late = made.late](int step, int rank) {
      return rank == late ? delay_of(plant.cause, amount_ns(step), like) : PlantedDelay{};
    };
    made.planted = PlantedRun(job, random).run();
    if (job_ns(made.planted) > 1.025 * without_ns) return made;
  }
}

/// Runs jobs with a plant; returns how many were named right.
int named_right(const Plant& plant, unsigned jobs, ArrivalClock clock) {
  int right = 0;
  for (unsigned seed = 0; seed < jobs; ++seed) {
    std::mt19937_64 random(seed + 1000 * static_cast<unsigned>(plant.cause));
    const auto made = planted_case(plant, random, clock);
    const auto found =
        find_stragglers(straggler_input(made.planted.traces, made.planted.fits, clock));
    if (blames(found, made.late, plant.cause, plant.pattern)) {
      ++right;
    } else {
      std::cout << "seed " << seed << ", rank " << made.late << " of " << made.job.ranks << ", "
                << to_string(plant.cause) << ' ' << to_string(plant.pattern) << ": "
                << text_of(found) << '\n';
    }
  }
  std::cout << to_string(plant.cause) << ' ' << to_string(plant.pattern) << ": " << right << " of "
            << jobs << " named right\n";
  return right;
}

void expect_named(const Plant& plant, ArrivalClock clock = ArrivalClock::common) {
  const unsigned jobs = rounds(60);
  EXPECT_GE(named_right(plant, jobs, clock), static_cast<int>(jobs * 95 / 100));
}

TEST(Stragglers, SlowComputationIsNamed) {
  expect_named({StragglerCause::computation, StragglerPattern::persistent});
}

TEST(Stragglers, LateLaunchesAreNamed) {
  expect_named({StragglerCause::host, StragglerPattern::persistent});
}

TEST(Stragglers, LateInputIsNamed) {
  expect_named({StragglerCause::data, StragglerPattern::persistent});
}

TEST(Stragglers, ASlowLinkIsNamed) {
  expect_named({StragglerCause::link, StragglerPattern::persistent});
}

TEST(Stragglers, GrowingAndShrinkingLatenessIsNamed) {
  expect_named({StragglerCause::computation, StragglerPattern::growing});
  expect_named({StragglerCause::host, StragglerPattern::shrinking});
}

TEST(Stragglers, PeriodicLatenessIsNamed) {
  expect_named({StragglerCause::data, StragglerPattern::periodic});
  expect_named({StragglerCause::computation, StragglerPattern::periodic});
}

TEST(Stragglers, BurstsAreNamed) {
  expect_named({StragglerCause::computation, StragglerPattern::bursts});
  expect_named({StragglerCause::data, StragglerPattern::bursts});
}

TEST(Stragglers, WithoutACommonClockDurationsTellWhoIsLate) {
  expect_named({StragglerCause::computation, StragglerPattern::persistent}, ArrivalClock::own);
  expect_named({StragglerCause::host, StragglerPattern::growing}, ArrivalClock::own);
  expect_named({StragglerCause::data, StragglerPattern::persistent}, ArrivalClock::own);
}

/// Noise without a rank to blame: none beyond each task's, tasks' alone but much, spells of a rank
/// drawn by chance, single steps of such a rank.
enum class Noise { little, much, spells, hits };

std::function<PlantedDelay(int, int)> chance_delays(Noise noise, const PlantedJob& job,
                                                    std::mt19937_64& random) {
  std::vector<int> slow;  // by step; -1: nobody
  while (std::ssize(slow) <= job.steps) {
    const int rank = static_cast<int>(random() % static_cast<unsigned>(job.ranks));
    const auto length = noise == Noise::spells ? 1 + random() % 4 : 1;
    slow.insert(slow.end(), length, noise == Noise::hits && random() % 2 == 0 ? -1 : rank);
  }
  const double by_ns = noise == Noise::little || noise == Noise::much ? 0 : 0.2 * step_ns(job);
  return [slow, by_ns, job](int step, int rank) {
    if (slow[static_cast<std::size_t>(step)] != rank) return PlantedDelay{};
    return delay_of(StragglerCause::computation, by_ns, job);
  };
}

TEST(Stragglers, WhereNothingIsPlantedNobodyIsBlamed) {
  for (const Noise noise : {Noise::little, Noise::much, Noise::spells, Noise::hits}) {
    const unsigned jobs = rounds(60);
    unsigned blamed = 0;
    for (unsigned seed = 0; seed < jobs; ++seed) {
      std::mt19937_64 random(seed + 7000);
      PlantedJob job = random_planted_job(random);
      if (noise == Noise::much) job.noise = 0.1;
      job.delay = chance_delays(noise, job, random);
      job.clock_error_ns = step_ns(job) * 0.001;
      const auto clock = seed % 2 == 0 ? ArrivalClock::common : ArrivalClock::own;
      const auto found = found_in(job, random, clock);
      if (found.verdict != StragglerVerdict::late_ranks) continue;
      ++blamed;
      std::cout << "seed " << seed << ", noise " << static_cast<int>(noise) << ", " << job.ranks
                << " ranks: " << text_of(found) << '\n';
    }
    std::cout << "noise " << static_cast<int>(noise) << ": a rank is blamed in " << blamed << " of "
              << jobs << '\n';
    EXPECT_LE(blamed, jobs * 5 / 100);
  }
}

TEST(Stragglers, BurstsInHalfOfTheStepsAreNamed) {
  // A job on a busy machine of which one rank is stopped for some steps, again and again.
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> noise(1);
    StragglerInput input;
    input.ranks = {0, 1};
    input.iteration_ns = 38e6;
    bool is_stopped = false;
    for (int step = 0; step < 160; ++step) {
      if (step % 3 == 0) is_stopped = random() % 2 == 0;
      RankStep first{.blocked_ns = 1e6, .compute_ns = 15e6}, second = first;
      (random() % 2 == 0 ? first : second).blocked_ns += 0.8e6 * noise(random);
      if (random() % 10 == 0) second.blocked_ns += 4e6 * noise(random);
      if (is_stopped) {
        first.blocked_ns += 30e6;
        second.compute_ns += 30e6;
      }
      input.steps.push_back({.step = step, .ranks = {first, second}});
    }
    const auto found = find_stragglers(input);
    EXPECT_EQ(found.verdict, StragglerVerdict::late_ranks) << "seed " << seed << text_of(found);
    EXPECT_EQ(found.ranks[0].pattern, StragglerPattern::none) << "seed " << seed << text_of(found);
    EXPECT_EQ(found.ranks[1].cause, StragglerCause::computation) << seed << text_of(found);
  }
}

TEST(Stragglers, RanksThatAreLateInTurnsAlternate) {
  std::mt19937_64 random(1);
  PlantedJob job;
  job.ranks = 4;
  job.steps = 60;
  job.delay = [](int step, int rank) {
    return PlantedDelay{.compute_scale = (step * 7 + step / 4) % 4 == rank ? 1.3 : 1.0};
  };
  const auto found = found_in(job, random, ArrivalClock::common);
  EXPECT_EQ(found.verdict, StragglerVerdict::alternating) << text_of(found);
}

TEST(Stragglers, AllSlowRanksOfAHostAreNamed) {
  std::mt19937_64 random(1);
  PlantedJob job;
  job.ranks = 8;
  job.delay = [](int, int rank) { return PlantedDelay{.compute_scale = rank >= 6 ? 1.2 : 1.0}; };
  const auto found = found_in(job, random, ArrivalClock::common);
  for (const StragglerRank& rank : found.ranks) {
    EXPECT_EQ(rank.pattern, rank.rank >= 6 ? StragglerPattern::persistent : StragglerPattern::none);
  }
}

TEST(Stragglers, WhereMostRanksAreSlowTheOthersAreEarly) {
  std::mt19937_64 random(1);
  PlantedJob job;
  job.ranks = 8;
  job.delay = [](int, int rank) { return PlantedDelay{.compute_scale = rank >= 2 ? 1.4 : 1.0}; };
  const auto found = found_in(job, random, ArrivalClock::common);
  EXPECT_EQ(found.verdict, StragglerVerdict::uneven) << text_of(found);
}

TEST(Stragglers, LatenessThatTheClocksMayExplainIsNotBlamed) {
  std::mt19937_64 random(1);
  PlantedJob job;
  job.clock_error_ns = step_ns(job) * 0.03;
  const auto found = found_in(job, random, ArrivalClock::common);
  EXPECT_DOUBLE_EQ(found.least_ns, 2 * job.clock_error_ns);
  EXPECT_NE(found.verdict, StragglerVerdict::late_ranks) << text_of(found);
}

TEST(Stragglers, FewStepsAreNoEvidence) {
  std::mt19937_64 random(1);
  PlantedJob job;
  job.delay = [](int, int rank) { return PlantedDelay{.compute_scale = rank == 1 ? 1.5 : 1.0}; };
  job.steps = 3;
  EXPECT_EQ(found_in(job, random, ArrivalClock::common).verdict, StragglerVerdict::too_few);
  job.steps = 6;  // of two ranks one is last in all six by chance in one of 64 cases
  EXPECT_NE(found_in(job, random, ArrivalClock::common).verdict, StragglerVerdict::late_ranks);
  job.steps = 12;
  EXPECT_EQ(found_in(job, random, ArrivalClock::common).verdict, StragglerVerdict::late_ranks);
  EXPECT_EQ(find_stragglers({}).verdict, StragglerVerdict::too_few);
}

TEST(Stragglers, EachCollectiveSaysWhoCameLast) {
  std::mt19937_64 random(1);
  PlantedJob job;
  job.noise = 0;
  job.ranks = 4;
  job.layers = 3;
  job.transfer_ns = 1e5;  // an all-reduce ends before the next one begins
  job.delay = [](int, int rank) { return PlantedDelay{.compute_scale = 1 + 0.1 * (rank == 2)}; };
  const auto found = found_in(job, random, ArrivalClock::common);
  ASSERT_EQ(found.places.size(), 3u);
  for (const StragglerPlace& place : found.places) {
    EXPECT_EQ(place.last_rank, 2);
    EXPECT_DOUBLE_EQ(place.last_share, 1);
    EXPECT_EQ(place.count, job.steps + 1);
    EXPECT_EQ(place.place.name, "all-reduce");
    EXPECT_GE(place.skew_median_ns, place.alone_median_ns);
  }
  // The last of them comes after all tasks: a tenth of three forward and three backward ones.
  EXPECT_EQ(found.places.front().place.position, 2);
  EXPECT_NEAR(found.places.front().skew_median_ns, 0.45e6, 0.16e6);
}

TEST(Stragglers, TheSimulatorsSlowRankIsNamed) {
  int right = 0, clean = 0;
  const int jobs = static_cast<int>(rounds(25));
  for (int seed = 0; seed < jobs; ++seed) {
    std::mt19937_64 random(static_cast<unsigned>(seed));
    StepDescription step;
    step.ranks = 2 + static_cast<std::int64_t>(random() % 7);
    for (int layer = 0; layer < 4; ++layer) {
      step.layers.push_back({"layer" + std::to_string(layer),
                             static_cast<std::int64_t>(1'000'000 + random() % 4'000'000), 500'000,
                             static_cast<std::int64_t>(800'000 + random() % 500'000)});
    }
    step.collective = {.alpha_ns = 20'000, .beta_ns_per_byte = 0.1 + 0.1 * (seed % 5)};
    step.jitter = {JitterKind::lognormal, 0.01, random() % 1000};
    const auto late = static_cast<std::size_t>(random() % static_cast<std::size_t>(step.ranks));
    for (const double scale : {1.0, 1.25}) {
      step.rank_compute_scale.assign(static_cast<std::size_t>(step.ranks), 1.0);
      step.rank_compute_scale[late] = scale;
      std::vector<RankTrace> traces;
      std::vector<ClockFit> fits(static_cast<std::size_t>(step.ranks));
      for (ClockFit& fit : fits) fit.method = "own";
      for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
        SimulationOptions options;
        options.iterations = 25;
        traces.push_back(simulated_trace(step, options, rank).trace);
      }
      const auto found = find_stragglers(straggler_input(traces, fits, ArrivalClock::common));
      const bool is_right = scale > 1
                                ? blames(found, static_cast<std::int64_t>(late),
                                         StragglerCause::computation, StragglerPattern::persistent)
                                : found.verdict != StragglerVerdict::late_ranks;
      (scale > 1 ? right : clean) += is_right;
      if (!is_right) {
        std::cout << "seed " << seed << ", rank " << late << " of " << step.ranks << ", scale "
                  << scale << ": " << text_of(found) << '\n';
      }
    }
  }
  std::cout << "simulator: " << right << " named right and " << clean << " clean of " << jobs
            << '\n';
  EXPECT_GE(right, jobs * 95 / 100);
  EXPECT_GE(clean, jobs * 95 / 100);
}

}  // namespace
}  // namespace hocket
