#include "archive/profiles/report/diff_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <random>

#include "profiler/metrics/metrics.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/profiler/formats/random_trace.h"

namespace hocket {
namespace {

/// Two ranks of three iterations of 1000 ns, in each of which `add` records a step.
struct PairOfRanks {
  std::vector<RankTrace> traces = std::vector<RankTrace>(2);
  std::vector<ClockFit> fits = std::vector<ClockFit>(2);

  PairOfRanks() {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      traces[rank].rank = static_cast<std::int64_t>(rank);
      traces[rank].ranks = 2;
      traces[rank].groups = {{"tp", {0, 1}}};
      for (std::int64_t step = 0; step < 4; ++step)
        traces[rank].step_starts.push_back({step, 1000 * step});
      fits[rank].method = rank == 0 ? "own" : "exchange";
    }
  }

  /// Adds a collective to each iteration; rank 1 arrives `late_ns` later.
  void collective(const std::string& name, std::int64_t at_ns, std::int64_t long_ns,
                  std::int64_t bytes, std::int64_t late_ns = 0, std::int32_t group = kAllRanks) {
    for (RankTrace& trace : traces) {
      trace.names.push_back(name);
      for (std::int64_t step = 0; step < 3; ++step) {
        TraceRecord record;
        record.kind = TraceKind::communication;
        record.collective = CollectiveKind::all_reduce;
        record.group = group;
        record.name = static_cast<std::uint32_t>(trace.names.size() - 1);
        record.begin_ns = 1000 * step + at_ns + (trace.rank == 1 ? late_ns : 0);
        record.end_ns = 1000 * step + at_ns + long_ns;
        record.bytes = bytes;
        record.sequence = 100 * static_cast<std::int64_t>(trace.names.size()) + step;
        trace.records.push_back(record);
      }
      put_in_order(trace);
    }
  }

  void computation(std::int64_t at_ns, std::int64_t long_ns) {
    for (RankTrace& trace : traces) {
      trace.names.push_back("kernel");
      for (std::int64_t step = 0; step < 3; ++step) {
        TraceRecord record;
        record.name = static_cast<std::uint32_t>(trace.names.size() - 1);
        record.begin_ns = 1000 * step + at_ns;
        record.end_ns = record.begin_ns + long_ns;
        trace.records.push_back(record);
      }
      put_in_order(trace);
    }
  }

  ProfiledRanks ranks() const { return {traces, fits}; }
};

TEST(DiffCollectives, ComparesWhatIsExposedWaitedAndTransferred) {
  PairOfRanks before, after;
  before.collective("gradient", 100, 200, 4000, 50);
  before.collective("gradient", 500, 100, 4000, 0, 0);
  after.collective("gradient", 100, 200, 4000, 20);
  after.collective("gradient", 500, 100, 4000, 0, 0);
  after.computation(250, 400);
  const auto all = diff_collectives(before.ranks(), after.ranks());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].group, "tp");
  EXPECT_EQ(all[0].before.exposed_ns, 100);
  EXPECT_EQ(all[0].after.exposed_ns, 0);
  EXPECT_EQ(all[0].change_ns(), -100);
  EXPECT_EQ(all[1].group, "");
  EXPECT_EQ(all[1].bytes, 4000);
  EXPECT_EQ(all[1].before.per_iteration, 1);
  EXPECT_EQ(all[1].before.exposed_ns, 175) << "the mean of 200 and 150";
  EXPECT_EQ(all[1].after.exposed_ns, 140) << "the mean of 150 and 130";
  EXPECT_EQ(all[1].before.arrival_skew_ns, 50);
  EXPECT_EQ(all[1].after.arrival_skew_ns, 20);
  EXPECT_EQ(all[1].before.wait_ns, 25);
  EXPECT_EQ(all[1].before.transfer_ns, 150);
  EXPECT_EQ(all[1].after.transfer_ns, 180);
  EXPECT_DOUBLE_EQ(all[1].before.bus_bandwidth.value(), 4000 * 1e9 / 150);
  const auto document = to_json(all[1]);
  EXPECT_EQ(document["kind"], "all_reduce");
  EXPECT_EQ(document["after"]["wait_ns"], 10);
}

TEST(DiffCollectives, JoinsOtherSizesOfOneName) {
  PairOfRanks before, after;
  before.collective("gradient", 100, 100, 4000);
  before.collective("weights", 700, 100, 4000);
  after.collective("gradient", 100, 40, 2000);
  after.collective("gradient", 200, 40, 2000);
  after.collective("weights", 700, 100, 4000);
  const auto all = diff_collectives(before.ranks(), after.ranks());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "gradient");
  EXPECT_EQ(all[0].bytes, std::nullopt);
  EXPECT_EQ(all[0].before.per_iteration, 1);
  EXPECT_EQ(all[0].after.per_iteration, 2);
  EXPECT_EQ(all[0].change_ns(), -20);
  EXPECT_EQ(all[1].bytes, 4000);
  EXPECT_EQ(to_json(all[0])["bytes"], nullptr);
}

TEST(DiffCollectives, JoinsOtherNamesByTheirPlaceInTheStep) {
  PairOfRanks before, after;
  before.collective("z", 100, 50, 4000);
  before.collective("a", 500, 50, 4000);
  after.collective("x1", 100, 60, 4000);
  after.collective("x2", 500, 90, 4000);
  const auto all = diff_collectives(before.ranks(), after.ranks());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].name_after, "x2");
  EXPECT_EQ(all[0].change_ns(), 40);
  EXPECT_EQ(all[1].name, "z");
  EXPECT_EQ(to_json(all[1])["name_after"], "x1");
  after.collective("x3", 800, 50, 4000);
  EXPECT_EQ(diff_collectives(before.ranks(), after.ranks()).size(), 5U)
      << "places are not known with other numbers";
}

TEST(DiffCollectives, ExposedTimesOfAllCollectivesAddUpToTheMetrics) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<RankTrace> traces = {random_trace(0, 2, random), random_trace(1, 2, random)};
    const std::vector<ClockFit> fits(2);
    double expected_ns = 0, iterations = 0, found_ns = 0;
    for (const RankMetrics& rank : measure_job(traces, fits).ranks) {
      iterations += static_cast<double>(rank.iterations.size());
      for (const IterationMetrics& each : rank.iterations)
        expected_ns += static_cast<double>(each.exposed_ns);
    }
    for (const CollectiveDifference& each : diff_collectives({traces, fits}, {traces, fits})) {
      EXPECT_EQ(each.before, each.after);
      found_ns += each.before.exposed_ns;
    }
    EXPECT_NEAR(found_ns * iterations, expected_ns, 1e-3);
  }
}

TEST(DiffCollectives, OfNothingAreNone) {
  EXPECT_TRUE(diff_collectives({}, {}).empty());
  const PairOfRanks idle;
  EXPECT_TRUE(diff_collectives(idle.ranks(), idle.ranks()).empty());
}

}  // namespace
}  // namespace hocket
