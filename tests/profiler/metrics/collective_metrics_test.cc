#include "profiler/metrics/collective_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/trace/message_ends.h"
#include "tests/profiler/simulated_clocks.h"

namespace hocket {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TraceRecord part(std::int64_t sequence, std::int64_t begin_ns, std::int64_t end_ns) {
  TraceRecord record = SimulatedClocks::all_reduce(sequence, begin_ns, end_ns);
  record.bytes = 1000;
  return record;
}

TraceRecord compute(std::int64_t begin_ns, std::int64_t end_ns) {
  TraceRecord record;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  return record;
}

/// Three ranks. Rank 1's clock is 10,000 ns behind, rank 2's as much ahead. Windows of 1000 ns
/// start at 100'000.
struct Job {
  std::vector<RankTrace> traces{3};
  std::vector<ClockFit> fits{3};

  explicit Job(int steps = 3) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t shift_ns = i == 0 ? 0 : i == 1 ? -10'000 : 10'000;
      RankTrace& trace = traces[i];
      trace.rank = static_cast<std::int64_t>(i);
      trace.ranks = 3;
      trace.names = {"gradient"};
      const auto late_ns = static_cast<std::int64_t>(30 * i);
      for (int step = 0; step < steps; ++step) {
        const std::int64_t begin_ns = 100'000 + shift_ns + 1000 * step;
        trace.step_starts.push_back({step, begin_ns});
        trace.records.push_back(compute(begin_ns, begin_ns + 400 + 100 * trace.rank * trace.rank));
        trace.records.push_back(
            part(step, begin_ns + 500 + late_ns, begin_ns + 760 + 10 * trace.rank));
        trace.records.back().step = step;
      }
      fits[i].offset_ns = static_cast<double>(-shift_ns);
      fits[i].method = i == 0 ? "own" : "collectives";
    }
  }
  JobMetrics measure(std::int64_t first_step = 0) const {
    return measure_job(traces, fits, first_step);
  }
};

TEST(CollectiveMetrics, AHandComputedJob) {
  const JobMetrics job = Job().measure();
  EXPECT_THAT(job.withheld, IsEmpty());
  ASSERT_EQ(job.collectives.size(), 2u) << "the third is in no whole window";
  for (const CollectiveMetrics& collective : job.collectives) {
    EXPECT_EQ(collective.name, "gradient");
    EXPECT_EQ(collective.step, collective.sequence);
    EXPECT_EQ(collective.bytes, 1000);
    // The ranks arrive at 500, 530 and 560 and end at 760, 770 and 780.
    EXPECT_EQ(collective.arrival_skew_ns, 60);
    EXPECT_DOUBLE_EQ(collective.wait_ns, 30);
    EXPECT_EQ(collective.transfer_ns, 210);
    EXPECT_DOUBLE_EQ(collective.algorithm_bandwidth, 1000e9 / 210);
    EXPECT_DOUBLE_EQ(collective.bus_bandwidth, 1000e9 / 210 * 4 / 3);
  }
  // The ranks compute for 400, 500 and 800 ns.
  EXPECT_EQ(job.slowest_rank, 2);
  EXPECT_EQ(job.slowest_rank_ns, 300);
  EXPECT_EQ(job.headroom_ns, 1000 - 400);
}

TEST(CollectiveMetrics, HeadroomIsWhatTheLongerOfBothLeaves) {
  Job job;
  for (RankTrace& trace : job.traces) {
    // Two more parts in the second step, with 100 ns each from the last arrival to the end.
    const std::int64_t begin_ns = trace.step_starts[1].begin_ns;
    for (const int i : {0, 1}) {
      trace.records.push_back(part(10 + i, begin_ns + 100 + 150 * i, begin_ns + 350 + 150 * i));
    }
    put_in_order(trace);
  }
  // The sums of transfers are 210 and 210 + 250 + 250.
  EXPECT_EQ(job.measure().headroom_ns, 1000 - (210 + 710) / 2.0);
  EXPECT_EQ(job.measure(1).headroom_ns, 1000 - 710);
  for (RankTrace& trace : job.traces)
    std::erase_if(trace.records, [](const auto& r) { return r.kind == TraceKind::communication; });
  EXPECT_EQ(job.measure().headroom_ns, 600) << "without communication computation alone counts";
  EXPECT_THAT(job.measure().withheld, IsEmpty());
}

/// Keeps what the rank recorded in its first `iterations` windows.
void cut_after(RankTrace& trace, std::size_t iterations) {
  const std::int64_t end_ns = trace.step_starts.at(iterations).begin_ns;
  std::erase_if(trace.records, [&](const auto& record) { return record.begin_ns >= end_ns; });
  trace.step_starts.resize(iterations + 1);
}

TEST(CollectiveMetrics, HeadroomOfACutTraceIsThatOfTheIterationsThatAllRanksHave) {
  constexpr std::size_t kIterations = 7;
  Job whole(kIterations + 1);
  for (RankTrace& trace : whole.traces) {
    // Transfers are longer than computations and differ from step to step, as the windows do.
    for (std::size_t step = 0; step <= kIterations; ++step) {
      const std::int64_t begin_ns = trace.step_starts[step].begin_ns;
      const auto longer_ns = static_cast<std::int64_t>(step * 3 % kIterations * 50);
      trace.records.push_back(
          part(100 + static_cast<std::int64_t>(step), begin_ns + 10, begin_ns + 450 + longer_ns));
    }
    for (std::size_t step = 0; step <= kIterations; ++step)
      trace.step_starts[step].begin_ns -= static_cast<std::int64_t>(step * 2 % kIterations);
    put_in_order(trace);
  }
  for (std::size_t iterations = 1; iterations < kIterations; ++iterations) {
    SCOPED_TRACE(iterations);
    Job one_is_cut = whole, all_are_cut = whole;
    cut_after(one_is_cut.traces[1], iterations);
    for (RankTrace& trace : all_are_cut.traces) cut_after(trace, iterations);
    const JobMetrics measured = one_is_cut.measure();
    ASSERT_TRUE(measured.headroom_ns);
    EXPECT_EQ(measured.headroom_ns, all_are_cut.measure().headroom_ns);
    EXPECT_THAT(all_are_cut.measure().withheld, IsEmpty());
    EXPECT_THAT(measured.withheld,
                ElementsAre("headroom_ns: " + std::to_string(kIterations - iterations) +
                            " of 7 iterations have collectives that are not in the traces of all "
                            "ranks, or messages, and are left out"));
  }
}

TEST(CollectiveMetrics, HeadroomIsWithheldWhenNoIterationIsComplete) {
  Job job;
  for (RankTrace& trace : job.traces) {
    for (const StepStart& start : std::vector(trace.step_starts)) {
      if (trace.rank == 2) continue;
      trace.records.push_back(part(10 + start.step, start.begin_ns + 800, start.begin_ns + 900));
    }
    put_in_order(trace);
  }
  EXPECT_EQ(job.measure().collectives.size(), 2u) << "those that all have are measured";
  EXPECT_FALSE(job.measure().headroom_ns);
  EXPECT_THAT(job.measure().withheld,
              ElementsAre(HasSubstr("headroom_ns: 2 of 2 iterations have collectives")));
}

TEST(CollectiveMetrics, ATransferThatTookNoTimeHasNoBandwidth) {
  Job job;
  for (TraceRecord& record : job.traces[2].records) {
    if (record.kind == TraceKind::communication) record.begin_ns = record.end_ns;
  }
  for (const CollectiveMetrics& collective : job.measure().collectives) {
    EXPECT_EQ(collective.transfer_ns, 0);
    EXPECT_EQ(collective.algorithm_bandwidth, 0);
    EXPECT_EQ(collective.bus_bandwidth, 0);
  }
  EXPECT_EQ(job.measure().collectives.size(), 2u);
}

TEST(CollectiveMetrics, AResidualAboveATenthOfTheTransferWithholdsThem) {
  Job job;
  job.fits[1].residual_ns = 21;
  EXPECT_THAT(job.measure().withheld, IsEmpty());
  job.fits[1].residual_ns = 25;
  const JobMetrics measured = job.measure();
  EXPECT_THAT(measured.collectives, IsEmpty());
  EXPECT_FALSE(measured.headroom_ns);
  EXPECT_EQ(measured.slowest_rank_ns, 300) << "needs no common clock";
  EXPECT_THAT(measured.withheld, ElementsAre("collectives: rank 1's clock is known to 25 ns, more "
                                             "than a tenth of the median transfer of 210 ns"));
  job.fits[1].residual_ns = 1e9;
  EXPECT_THAT(job.measure().withheld, ElementsAre(HasSubstr("known to 1000000 µs")));
  job.fits[2] = {};
  EXPECT_THAT(job.measure().withheld,
              ElementsAre(HasSubstr("rank 2's clock is related to no other")));
  EXPECT_THAT(job.measure().collectives, IsEmpty());
}

TEST(CollectiveMetrics, EveryRanksArrivalIsKept) {
  Job job;
  job.fits[1].residual_ns = 4;
  job.fits[2].residual_ns = 7;
  const CollectiveMetrics collective = job.measure().collectives.front();
  // The ranks arrive at 500, 530 and 560 and end at 760, 770 and 780.
  EXPECT_EQ(collective.arrivals,
            (std::vector<CollectiveArrival>{{0, 0, 60, 200}, {1, 30, 30, 210}, {2, 60, 0, 220}}));
  EXPECT_EQ(collective.clock_error_ns, 11);
}

TEST(CollectiveMetrics, OneMessageTellsOfAllUncertainClocks) {
  Job job;
  job.fits[1].residual_ns = 1000;
  job.fits[2].residual_ns = 3000;
  EXPECT_THAT(job.measure().withheld,
              ElementsAre("collectives: rank 2's clock is known to 3000 ns, more than a tenth of "
                          "the median transfer of 210 ns, and so are 1 others"));
}

/// Makes the parts of rank 2 in the first `count` of `steps` begin after the others have ended.
Job with_impossible_parts(int steps, int count) {
  Job job(steps + 1);
  for (TraceRecord& record : job.traces[2].records) {
    if (record.kind != TraceKind::communication || record.sequence >= count) continue;
    record.begin_ns += 50'000;
    record.end_ns += 50'000;
  }
  put_in_order(job.traces[2]);
  return job;
}

TEST(CollectiveMetrics, WhatEndsBeforeItBeginsElsewhereIsNotOneCollective) {
  const JobMetrics few = with_impossible_parts(20, 2).measure();
  EXPECT_EQ(few.collectives.size(), 18U);
  EXPECT_THAT(few.withheld,
              ElementsAre("collectives: 2 of 20 end on a rank before they begin on another and are "
                          "left out",
                          HasSubstr("headroom_ns: 2 of 20")));
  Job many = with_impossible_parts(20, 3);
  EXPECT_THAT(many.measure().collectives, IsEmpty());
  EXPECT_THAT(many.measure().withheld,
              ElementsAre("collectives: 3 of 20 end on a rank before they begin on another; the "
                          "traces do not tell groups of ranks apart, or a clock jumps"));
  many.fits[2].residual_ns = 1e6;
  EXPECT_THAT(many.measure().withheld, ElementsAre(HasSubstr("3 of 20 end on a rank before")))
      << "the reason is not the clock alone";
  for (RankTrace& trace : many.traces)
    for (TraceRecord& record : trace.records)
      if (record.collective) record.collective = CollectiveKind::broadcast;
  many.fits[2].residual_ns = 0;
  EXPECT_EQ(many.measure().collectives.size(), 20U) << "its root needs no other rank";
}

TEST(CollectiveMetrics, SaysWhatIsMissing) {
  Job job;
  job.traces.pop_back();
  job.fits.pop_back();
  EXPECT_THAT(job.measure().withheld, ElementsAre(HasSubstr("2 of 3 ranks have a trace")));
  EXPECT_FALSE(job.measure().headroom_ns);
  EXPECT_EQ(job.measure().slowest_rank_ns, 50);

  Job twice;
  twice.traces[2].rank = 1;
  EXPECT_THAT(twice.measure().withheld, ElementsAre(HasSubstr("more than one trace")));

  Job unlike;
  unlike.traces[1].records[1].bytes = 7;
  EXPECT_THAT(unlike.measure().withheld, ElementsAre(HasSubstr("1 differ in kind or bytes"),
                                                     HasSubstr("headroom_ns: 1 of 2 iterations")));
  EXPECT_EQ(unlike.measure().collectives.size(), 1u);

  Job apart;
  for (TraceRecord& record : apart.traces[1].records) {
    if (record.sequence != kNoSequence) record.sequence += 50;
  }
  EXPECT_THAT(apart.measure().withheld, ElementsAre(HasSubstr("none is in the traces of all")));

  Job without_steps;
  for (RankTrace& trace : without_steps.traces) trace.step_starts.clear();
  EXPECT_EQ(without_steps.measure().collectives.size(), 3u);
  EXPECT_FALSE(without_steps.measure().headroom_ns);
  EXPECT_FALSE(without_steps.measure().slowest_rank_ns);
  EXPECT_EQ(measure_job({}, {}), JobMetrics{});
}

/// Computes the metrics as the header defines them, by a search for each sequence in each trace.
std::vector<CollectiveMetrics> by_search(const std::vector<RankTrace>& traces,
                                         const std::vector<double>& offsets) {
  std::vector<CollectiveMetrics> all;
  for (std::int64_t sequence = 0; sequence < 100; ++sequence) {
    std::vector<double> begins, ends;
    std::int64_t bytes = 0;
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      for (const TraceRecord& record : traces[rank].records) {
        if (record.sequence != sequence) continue;
        begins.push_back(static_cast<double>(record.begin_ns) + offsets[rank]);
        ends.push_back(static_cast<double>(record.end_ns) + offsets[rank]);
        bytes = record.bytes;
      }
    }
    if (begins.size() < traces.size()) continue;
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    const auto n = static_cast<double>(begins.size());
    CollectiveMetrics metrics;
    metrics.sequence = sequence;
    metrics.bytes = bytes;
    metrics.arrival_skew_ns = begins.back() - begins.front();
    for (const double begin : begins) metrics.wait_ns += (begins.back() - begin) / n;
    const double end = (ends[(ends.size() - 1) / 2] + ends[ends.size() / 2]) / 2;
    metrics.transfer_ns = end > begins.back() ? end - begins.back() : 0;
    if (metrics.transfer_ns > 0)
      metrics.algorithm_bandwidth = static_cast<double>(bytes) / (metrics.transfer_ns / 1e9);
    metrics.bus_bandwidth = metrics.algorithm_bandwidth * 2 * (n - 1) / n;
    all.push_back(metrics);
  }
  return all;
}

TEST(CollectiveMetrics, AgreeWithASearch) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const auto ranks = static_cast<std::size_t>(2 + below(4));
    std::vector<RankTrace> traces(ranks);
    std::vector<ClockFit> fits(ranks);
    std::vector<double> offsets(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      traces[rank].rank = static_cast<std::int64_t>(rank);
      traces[rank].ranks = static_cast<std::int64_t>(ranks);
      offsets[rank] = rank == 0 ? 0 : static_cast<double>(below(1000)) - 500;
      fits[rank] = {0, offsets[rank], 0, 0, 1, rank == 0 ? "own" : "collectives"};
      for (std::int64_t sequence = 0; sequence < 30; ++sequence) {
        if (below(10) == 0) continue;
        const std::int64_t begin_ns = 1000 + below(1000);
        traces[rank].records.push_back(part(sequence, begin_ns, begin_ns + below(2000)));
        traces[rank].records.back().bytes = 100 * sequence;
      }
      std::shuffle(traces[rank].records.begin(), traces[rank].records.end(), random);
    }
    const auto expected = by_search(traces, offsets);
    const auto actual = measure_job(traces, fits).collectives;
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const CollectiveMetrics &a = actual[i], &b = expected[i];
      ASSERT_EQ(a.sequence, b.sequence);
      ASSERT_EQ(a.bytes, b.bytes);
      ASSERT_NEAR(a.arrival_skew_ns, b.arrival_skew_ns, 1e-6);
      ASSERT_NEAR(a.wait_ns, b.wait_ns, 1e-6);
      ASSERT_NEAR(a.transfer_ns, b.transfer_ns, 1e-6);
      ASSERT_NEAR(a.algorithm_bandwidth, b.algorithm_bandwidth, 1e-9 * b.algorithm_bandwidth);
      ASSERT_NEAR(a.bus_bandwidth, b.bus_bandwidth, 1e-9 * b.bus_bandwidth);
      ASSERT_LE(a.wait_ns, a.arrival_skew_ns);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500u);
}

TEST(CollectiveMetrics, FactorsAreThoseOfNcclsTests) {
  const std::map<CollectiveKind, double> factors{
      {CollectiveKind::all_reduce, 1.75},      {CollectiveKind::all_gather, 0.875},
      {CollectiveKind::reduce_scatter, 0.875}, {CollectiveKind::all_to_all, 0.875},
      {CollectiveKind::broadcast, 1},          {CollectiveKind::shift, 1}};
  ASSERT_EQ(factors.size(), kCollectiveKinds.size());
  for (const auto& [kind, factor] : factors) EXPECT_EQ(bus_factor(kind, 8), factor);
  EXPECT_EQ(bus_factor(CollectiveKind::all_reduce, 1), 0);
}

TEST(CollectiveMetrics, OfSimulatedClocksComeNearTheTruth) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedClocks clocks(seed, 4);
    auto traces = clocks.traces({.noise_ns = 500});
    // Checks that times since 1970 keep their nanoseconds.
    for (RankTrace& trace : traces) {
      for (TraceRecord& record : trace.records) {
        record.begin_ns += 1'700'000'000'000'000'000;
        record.end_ns += 1'700'000'000'000'000'000;
      }
    }
    const JobMetrics job = measure_job(traces, fit_clocks(traces, {}));
    EXPECT_THAT(job.withheld, IsEmpty());
    ASSERT_EQ(job.collectives.size(), 100u);
    for (const CollectiveMetrics& collective : job.collectives) {
      EXPECT_GE(collective.transfer_ns, 1e5 - 2e3);
      EXPECT_LE(collective.transfer_ns, 2e5 + 3e3);
      EXPECT_LE(collective.arrival_skew_ns, 1e5 + 2e3);
    }
  }
}

TEST(CollectiveMetrics, MessagesAreNoCollectives) {
  Job job;
  const JobMetrics without = job.measure();
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
    RankTrace& trace = job.traces[rank];
    trace.groups = {message_group({0, 1})};
    // The send has ended before the receive begins.
    const std::int64_t begin_ns = trace.step_starts[1].begin_ns + (rank == 0 ? 10 : 300);
    trace.records.push_back(part(0, begin_ns, begin_ns + 50));
    trace.records.back().collective = rank == 0 ? CollectiveKind::send : CollectiveKind::receive;
    trace.records.back().group = 0;
    put_in_order(trace);
  }
  const JobMetrics with = job.measure();
  EXPECT_EQ(with.collectives.size(), without.collectives.size());
  EXPECT_THAT(with.withheld, ElementsAre(HasSubstr("headroom_ns: 1 of 2 iterations")))
      << "how long a message takes is not known";
  for (RankTrace& trace : job.traces)
    std::erase_if(trace.records, [](const TraceRecord& record) {
      return record.collective == CollectiveKind::all_reduce;
    });
  EXPECT_THAT(job.measure().withheld, Contains(HasSubstr("only messages between two")));
}

}  // namespace
}  // namespace hocket
