#include "profiler/clocks/clock_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "core/base/json.h"
#include "core/trace/message_ends.h"
#include "tests/mutate.h"
#include "tests/profiler/simulated_clocks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 200;
constexpr double kRoundingNs = 3;

/// Number of ranks; the tests check the second and the last.
constexpr std::size_t kRanks = 3;

TEST(ClockFit, AnExchangeBoundsTheErrorInAllOfTheTrace) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    const auto rounds = clocks.exchange(2e9, 3 + static_cast<int>(seed % 30),
                                        clocks.uniform(1e5, seed % 2 ? 1e6 : 1e10),
                                        seed % 3 ? 2e4 : clocks.uniform(2e4, 3e8));
    auto traces = clocks.bare_traces();
    const double end_ns = clocks.uniform(2e9, 20e9);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      traces[rank].records.push_back({});
      traces[rank].records[0].begin_ns = clocks.read(rank, 1e9);
      traces[rank].records[0].end_ns = clocks.read(rank, end_ns);
    }
    const auto fits = fit_clocks(traces, rounds);
    EXPECT_EQ(fits[0].method, "own");
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(fits[rank].method, "exchange");
      EXPECT_EQ(fits[rank].samples, std::ssize(rounds[0]));
      for (const double true_ns : {1e9, 2e9, end_ns}) {
        EXPECT_LE(clocks.error_ns(fits[rank], rank, clocks.read(rank, true_ns)),
                  fits[rank].residual_ns + kRoundingNs);
      }
    }
  }
}

TEST(ClockFit, AnExchangeAtBothEndsKnowsTheDrift) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    auto rounds = clocks.exchange(1e9, 20, 1e6);
    const auto later = clocks.exchange(60e9, 20, 1e6);
    for (std::size_t i = 0; i < kRanks; ++i)
      rounds[i].insert(rounds[i].end(), later[i].begin(), later[i].end());
    const auto fits = fit_clocks(clocks.bare_traces(), rounds);
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_LE(fits[rank].residual_ns, 1.5e5);
      EXPECT_LE(clocks.error_ns(fits[rank], rank, clocks.read(rank, 30e9)),
                fits[rank].residual_ns + kRoundingNs);
    }
  }
}

TEST(ClockFit, EndsOfCollectivesRefineAnExchange) {
  int within = 0, refined = 0, all = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    const auto traces = clocks.traces({});
    const auto rounds = clocks.exchange(2e9, 20, 1e5);
    const auto coarse = fit_clocks(clocks.bare_traces(), rounds), fits = fit_clocks(traces, rounds);
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(fits[rank].method, "both");
      EXPECT_EQ(fits[rank].samples, 120);
      EXPECT_LT(fits[rank].residual_ns, 6e3) << "three times the noise";
      refined += fits[rank].residual_ns < coarse[rank].residual_ns;
      const double error_ns = clocks.error_ns(fits[rank], rank, clocks.read(rank, 1.5e9));
      EXPECT_LE(error_ns, coarse[rank].residual_ns + 1e9 * std::abs(coarse[rank].drift) + 2e5);
      within += error_ns <= fits[rank].residual_ns;
      ++all;
    }
  }
  EXPECT_GE(within, all * 99 / 100);
  EXPECT_GE(refined, all * 95 / 100) << "the exchange's own error is that at one moment";
}

TEST(ClockFit, CollectivesAloneAreEnough) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    const auto fits = fit_clocks(clocks.traces({.collectives = 600}), {});
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(fits[rank].method, "collectives");
      for (const double true_ns : {1e9, 4e9, 7e9}) {
        EXPECT_LE(clocks.error_ns(fits[rank], rank, clocks.read(rank, true_ns)), 1e3);
      }
    }
  }
}

TEST(ClockFit, ASlowRankInATenthOfTheEndsHardlyMovesIt) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    const auto fits = fit_clocks(clocks.traces({.late_ns = 5e6}), {});
    for (const double true_ns : {1e9, 1.5e9, 2e9}) {
      EXPECT_LE(clocks.error_ns(fits[2], 2, clocks.read(2, true_ns)), 2e3) << "the noise";
    }
    EXPECT_LT(fits[2].residual_ns, 5e3);
  }
}

TEST(ClockFit, TheExchangeBoundsWhatEndsMaySay) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    // The last rank always ends 5 ms after the others.
    const auto traces = clocks.traces({.bias_ns = 5e6});
    const auto rounds = clocks.exchange(1.5e9, 50, 1e5);
    const auto fits = fit_clocks(traces, rounds);
    EXPECT_EQ(fits[2].method, "both");
    EXPECT_LE(clocks.error_ns(fits[2], 2, clocks.read(2, 1.5e9)), 2e5);
    EXPECT_GE(fits[2].residual_ns, 4.5e6) << "it says that the ends contradict";
  }
}

TEST(ClockFit, ExchangesBoundTheDriftThatEndsMaySay) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    // The last rank ends later and later after the others: by 3 ms in 10 s.
    auto traces = clocks.traces({.every_ns = 1e8});
    for (TraceRecord& record : traces[2].records) record.end_ns += 30'000 * record.sequence;
    auto rounds = clocks.exchange(1e9, 20, 1e6);
    const auto later = clocks.exchange(11e9, 20, 1e6);
    for (std::size_t i = 0; i < kRanks; ++i)
      rounds[i].insert(rounds[i].end(), later[i].begin(), later[i].end());
    const auto fits = fit_clocks(traces, rounds);
    EXPECT_EQ(fits[2].method, "both");
    for (const double true_ns : {1e9, 6e9, 11e9}) {
      EXPECT_LE(clocks.error_ns(fits[2], 2, clocks.read(2, true_ns)), 2.5e5);
    }
  }
}

TEST(ClockFit, FewCollectivesAreKnownByTheirBoundsAlone) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, 2);
    const auto traces =
        clocks.traces({.collectives = 1 + static_cast<int>(seed % 3), .bias_ns = 5e4});
    const ClockFit fit = fit_clocks(traces, {})[1];
    const auto& last = traces[1].records.back();
    EXPECT_GT(fit.residual_ns, 1e4);
    EXPECT_LE(clocks.error_ns(fit, 1, last.end_ns), fit.residual_ns + 1e5);
  }
}

TEST(ClockFit, AClockThatJumpsHasALargeResidual) {
  for (const std::int64_t jump_ns : {3'000'000, -40'000'000}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(seed);
      SimulatedClocks clocks(seed, 2);
      auto rounds = clocks.exchange(1e9, 20, 1e5);
      for (std::size_t i = 10; i < 20; ++i) {
        rounds[1][i].begin_ns += jump_ns;
        rounds[1][i].end_ns += jump_ns;
      }
      const double jump = std::abs(static_cast<double>(jump_ns));
      EXPECT_GE(fit_clocks(clocks.bare_traces(), rounds)[1].residual_ns, jump / 4);

      auto traces = clocks.traces({});
      EXPECT_GE(fit_clocks(traces, rounds)[1].residual_ns, jump / 4)
          << "the exchange is impossible";
      for (std::size_t i = 50; i < 100; ++i) {
        traces[1].records[i].begin_ns += jump_ns;
        traces[1].records[i].end_ns += jump_ns;
      }
      EXPECT_GE(fit_clocks(traces, {})[1].residual_ns, jump / 20);
    }
  }
}

TEST(ClockFit, RanksThatAreMissingAndRoundsOfUnequalLength) {
  SimulatedClocks clocks(1, 4);
  auto rounds = clocks.exchange(1e9, 20, 1e5);
  auto traces = clocks.bare_traces();
  rounds[1].resize(5);
  rounds[2].clear();
  traces.erase(traces.begin() + 2);
  rounds.resize(3);
  auto fits = fit_clocks(traces, rounds);
  ASSERT_EQ(fits.size(), 3u);
  EXPECT_EQ(fits[0].method, "own");
  EXPECT_EQ(fits[1].samples, 5);
  EXPECT_EQ(fits[2].method, "none") << "rank 3 has no rounds";
  EXPECT_EQ(fits[2], ClockFit{});

  rounds[1][0] = {100, 50};
  rounds[1][1] = {-7, 50};
  EXPECT_EQ(fit_clocks(traces, rounds)[1].samples, 3);

  traces.erase(traces.begin());
  fits = fit_clocks(traces, rounds);
  EXPECT_EQ(fits[0].method, "own") << "the lowest rank stands in for rank 0";
  traces[1].rank = -4;
  EXPECT_EQ(fit_clocks(traces, rounds)[1].method, "own");
  EXPECT_EQ(fit_clocks(traces, rounds)[0].method, "none");
  EXPECT_TRUE(fit_clocks({}, rounds).empty());
}

TEST(ClockFit, OnlyEqualCollectivesThatEndTogetherCount) {
  SimulatedClocks clocks(2, 2);
  auto traces = clocks.traces({});
  for (TraceRecord& record : traces[1].records) record.sequence += 1000;
  EXPECT_EQ(fit_clocks(traces, {})[1].method, "none");
  traces = clocks.traces({});
  for (RankTrace& trace : traces) {
    for (TraceRecord& record : trace.records) {
      if (record.sequence >= 30) record.collective = CollectiveKind::broadcast;
      if (record.sequence < 10) record.collective = CollectiveKind::reduce_scatter;
    }
  }
  EXPECT_EQ(fit_clocks(traces, {})[1].samples, 30);
  traces[1].records[0].collective = CollectiveKind::all_gather;
  traces[1].records[1].collective.reset();
  EXPECT_EQ(fit_clocks(traces, {})[1].samples, 28);
}

TEST(ClockFit, MessagesHaveNoCommonEnds) {
  SimulatedClocks clocks(3, 2);
  auto traces = clocks.traces({});
  for (RankTrace& trace : traces) {
    trace.groups = {message_group({0, 1})};
    for (TraceRecord& record : trace.records) {
      if (record.sequence < 10) continue;
      record.group = 0;
      record.collective = trace.rank == 0 ? CollectiveKind::send : CollectiveKind::receive;
      // A send is over long before its receive.
      if (trace.rank == 0) record.end_ns = record.begin_ns;
    }
  }
  EXPECT_EQ(fit_clocks(traces, {})[1].samples, 10);
  for (RankTrace& trace : traces)
    std::erase_if(trace.records, [](const TraceRecord& record) { return record.group != 0; });
  EXPECT_EQ(fit_clocks(traces, {})[1].method, "none");
}

TEST(ClockFit, RanksOfOneHostWhoseSamplesAgreeHaveOneClock) {
  std::vector<RankTrace> traces(2);
  traces[1].rank = 1;
  for (RankTrace& trace : traces) {
    trace.host = "one";
    trace.source = "host";
    trace.clock_samples = {{5'000, 1'700'000'000'000'005'000}};
  }
  traces[1].clock_samples = {{900'000'000'000, 1'700'000'900'000'000'400}};
  const ClockFit fit = fit_clocks(traces, {})[1];
  EXPECT_EQ(fit.method, "realtime");
  EXPECT_EQ(fit.offset_ns, 0);
  EXPECT_EQ(fit.drift, 0);
  EXPECT_EQ(fit.residual_ns, 400);

  traces[1].source = "cupti";
  const ClockFit other = fit_clocks(traces, {})[1];
  EXPECT_EQ(other.to_reference_ns(900'000'000'000, 900'000'000'000), 400);
  EXPECT_EQ(other.residual_ns, 1000);
  traces[0].host = traces[1].host = "";
  EXPECT_EQ(fit_clocks(traces, {})[1].residual_ns, 1'000'000) << "it may be another host";
}

TEST(ClockFit, RealtimeClocksRelateHosts) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, kRanks);
    auto traces = clocks.bare_traces();
    constexpr std::int64_t kEpochNs = 1'700'000'000'000'000'000;
    std::vector<std::int64_t> ntp_ns{0};
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      ntp_ns.push_back(std::llround(clocks.uniform(-4e5, 4e5)));
      // Each clock is read long after the one before.
      const double begin_ns = 20e9 * static_cast<double>(rank);
      for (const double true_ns : {begin_ns, begin_ns + 4e9, begin_ns + 9e9}) {
        const auto reading_ns = std::llround(clocks.uniform(0, 1e3));
        traces[rank].clock_samples.push_back(
            {clocks.read(rank, true_ns),
             kEpochNs + std::llround(true_ns) + ntp_ns[rank] + reading_ns});
      }
    }
    const auto fits = fit_clocks(traces, {});
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(fits[rank].method, "realtime");
      EXPECT_EQ(fits[rank].samples, 6);
      EXPECT_GE(fits[rank].residual_ns, 1e6);
      for (const double since_ns : {0.0, 5e9, 9e9}) {
        const double true_ns = 20e9 * static_cast<double>(rank) + since_ns;
        EXPECT_LE(clocks.error_ns(fits[rank], rank, clocks.read(rank, true_ns)),
                  fits[rank].residual_ns);
      }
    }
    traces[0].clock_samples.clear();
    EXPECT_EQ(fit_clocks(traces, {})[1].method, "none");
  }
}

TEST(ClockFit, TimesAtTheEndsOfNumbersAreSurvived) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<RankTrace> traces(2);
  traces[1].rank = 1;
  traces[0].records = {SimulatedClocks::all_reduce(0, 0, kMost),
                       SimulatedClocks::all_reduce(1, kMost, kMost)};
  traces[1].records = {SimulatedClocks::all_reduce(0, kMost, kMost),
                       SimulatedClocks::all_reduce(1, 0, 1)};
  for (RankTrace& trace : traces) trace.clock_samples = {{0, kMost}, {kMost, 0}, {-1, kMost}};
  const std::vector<std::vector<ClockRound>> rounds{{{0, kMost}, {kMost, kMost}},
                                                    {{kMost, kMost}, {0, 0}}};
  EXPECT_TRUE(std::isfinite(fit_clocks(traces, {})[1].residual_ns));
  EXPECT_TRUE(std::isfinite(fit_clocks(traces, rounds)[1].residual_ns));
  for (RankTrace& trace : traces) trace.records.clear();
  EXPECT_TRUE(std::isfinite(fit_clocks(traces, rounds)[1].residual_ns));
  EXPECT_TRUE(std::isfinite(fit_clocks(traces, {})[1].residual_ns));
}

TEST(ClockFit, TimesSince1970KeepTheirNanoseconds) {
  constexpr std::int64_t kEpochNs = 1'700'000'000'000'000'000;
  const ClockFit fit{kEpochNs + 5, 1000, 0.5, 0, 0, "both"};
  EXPECT_EQ(fit.to_reference_ns(kEpochNs + 7, kEpochNs), 1000 + 7 + 1);
}

TEST(ClockFit, SurvivesJson) {
  SimulatedClocks clocks(3, 2);
  for (const ClockFit& fit : fit_clocks(clocks.traces({}), clocks.exchange(1e9, 20, 1e5))) {
    const auto read = clock_fit_from_json(nlohmann::json::parse(to_json(fit).dump()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, fit);
  }
  for (const auto& [field, value] : {std::pair<std::string, nlohmann::json>("method", "guessed"),
                                     {"drift", 2},
                                     {"residual_ns", -1},
                                     {"samples", 1.5},
                                     {"offset_ns", "0"},
                                     {"reference_ns", nullptr}}) {
    auto document = to_json(ClockFit{});
    document[field] = value;
    const auto read = clock_fit_from_json(document);
    ASSERT_FALSE(read) << field;
    EXPECT_THAT(read.error().message, HasSubstr(field));
    document.erase(field);
    EXPECT_FALSE(clock_fit_from_json(document)) << field;
  }
  EXPECT_FALSE(clock_fit_from_json(nlohmann::json::array()));
}

TEST(ClockFit, DamagedJsonIsReadOrRefused) {
  const std::string text = to_json(ClockFit{1'000'000, -12.5, 3e-6, 800, 90, "both"}).dump();
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto document = parse_object(mutate(text, random), "clock fit");
    if (!document) continue;
    const auto fit = clock_fit_from_json(*document);
    if (!fit) {
      EXPECT_FALSE(fit.error().message.empty());
      continue;
    }
    EXPECT_GE(fit->residual_ns, 0);
    EXPECT_TRUE(std::isfinite(fit->to_reference_ns(5)));
  }
}

}  // namespace
}  // namespace hocket
