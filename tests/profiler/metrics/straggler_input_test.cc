#include "profiler/metrics/straggler_input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/message_ends.h"
#include "tests/profiler/metrics/planted_job.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

TEST(StragglerInput, AnyTracesAreRead) {
  for (unsigned seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto any_time = [&] {
      return static_cast<std::int64_t>(random() >> (1 + random() % 62));
    };
    std::vector<RankTrace> traces(1 + random() % 4);
    std::vector<ClockFit> fits(traces.size());
    for (std::size_t i = 0; i < traces.size(); ++i) {
      RankTrace& trace = traces[i];
      trace.rank = static_cast<std::int64_t>(random() % 5);
      trace.names = {"a"};
      for (int step = 0; step < 12; ++step) trace.step_starts.push_back({step, any_time()});
      std::ranges::sort(trace.step_starts, {}, &StepStart::begin_ns);
      for (int step = 0; step < 12; ++step)
        trace.step_starts[static_cast<std::size_t>(step)].step = step;
      for (int k = 0; k < 60; ++k) {
        TraceRecord record;
        record.kind = static_cast<TraceKind>(random() % 5);
        record.begin_ns = any_time();
        record.end_ns = any_time();
        record.step = static_cast<std::int64_t>(random() % 14) - 1;
        record.submitted_ns = random() % 2 == 0 ? any_time() : 0;
        if (record.kind == TraceKind::communication) record.collective = CollectiveKind::all_reduce;
        record.sequence = static_cast<std::int64_t>(random() % 20) - 1;
        trace.records.push_back(record);
      }
      put_in_order(trace);
      fits[i].drift = std::ldexp(1.0, static_cast<int>(random() % 1200));
      fits[i].residual_ns = static_cast<double>(any_time());
    }
    const auto clock = random() % 2 == 0 ? ArrivalClock::common : ArrivalClock::own;
    const auto input = straggler_input(traces, fits, clock);
    for (const JobStep& step : input.steps) {
      for (const RankStep& rank : step.ranks) {
        for (const double part :
             {rank.blocked_ns, rank.compute_ns, rank.transfer_ns, rank.copy_ns, rank.host_ns}) {
          EXPECT_TRUE(part >= 0 || part == kUnknownNs) << part;
        }
      }
    }
    EXPECT_EQ(find_stragglers(input).ranks.size(), traces.size());
  }
}

/// The parts of a step add up to it: what the others waited longer for, the late rank spent
/// elsewhere.
TEST(StragglerInput, PartsOfAStepSumToItsTime) {
  for (unsigned seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PlantedJob job = random_planted_job(random);
    job.delay = [&](int step, int rank) {
      return step % 3 == rank % 3 ? PlantedDelay{1.2, 1e5, 2e5, 1e5} : PlantedDelay{};
    };
    const auto planted = PlantedRun(job, random).run();
    const auto input = straggler_input(planted.traces, planted.fits, ArrivalClock::common);
    ASSERT_EQ(std::ssize(input.steps), job.steps);
    for (std::size_t rank = 0; rank < planted.traces.size(); ++rank) {
      const auto& starts = planted.traces[rank].step_starts;
      // Time before a step's first task is in the window before.
      for (std::size_t step = 0; step + 1 < input.steps.size(); ++step) {
        const RankStep& parts = input.steps[step].ranks[rank];
        const double sum = parts.blocked_ns + parts.compute_ns + parts.transfer_ns + parts.copy_ns +
                           parts.host_ns + input.steps[step + 1].ranks[rank].data_ns;
        EXPECT_DOUBLE_EQ(sum,
                         static_cast<double>(starts[step + 1].begin_ns - starts[step].begin_ns));
      }
    }
  }
}

TEST(StragglerInput, WithoutComputationNoCauseIsKnown) {
  // Rank 1 comes 0.3 ms late to each collective; nothing says what it did before.
  std::vector<RankTrace> traces(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    RankTrace& trace = traces[rank];
    trace.rank = static_cast<std::int64_t>(rank);
    trace.ranks = 2;
    trace.names = {"gradient"};
    for (int step = 0; step < 40; ++step) {
      TraceRecord record;
      record.kind = TraceKind::communication;
      record.collective = CollectiveKind::all_reduce;
      record.begin_ns = 1'000'000 * step + 300'000 * trace.rank;
      record.end_ns = 1'000'000 * step + 500'000;
      record.step = record.sequence = step;
      trace.records.push_back(record);
      trace.step_starts.push_back({step, record.begin_ns});
    }
  }
  const std::vector<ClockFit> fits(2);
  const auto input = straggler_input(traces, fits, ArrivalClock::common);
  ASSERT_FALSE(input.steps.empty());
  for (const RankStep& rank : input.steps[1].ranks) {
    EXPECT_EQ(rank.compute_ns, kUnknownNs);
    EXPECT_EQ(rank.data_ns, kUnknownNs);
    EXPECT_EQ(rank.host_ns, kUnknownNs);
    EXPECT_GE(rank.blocked_ns, 0);
  }
  const auto found = find_stragglers(input);
  EXPECT_EQ(found.verdict, StragglerVerdict::late_ranks);
  EXPECT_NE(found.ranks[1].pattern, StragglerPattern::none);
  EXPECT_EQ(found.ranks[1].cause, StragglerCause::unknown);
}

/// Ranks of a mesh of two rows and two columns: in each step a computation, an all-reduce in the
/// row, one in the column. Rank 3 computes `slower_ns` longer.
std::vector<RankTrace> mesh(std::int64_t slower_ns) {
  std::vector<RankTrace> traces(4);
  std::vector<std::int64_t> now(4, 1'000'000);
  for (std::size_t r = 0; r < 4; ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    traces[r].rank = rank;
    traces[r].ranks = 4;
    traces[r].names = {"compute", "reduce"};
    traces[r].groups = {{"row", {rank / 2 * 2, rank / 2 * 2 + 1}},
                        {"column", {rank % 2, rank % 2 + 2}}};
  }
  const auto reduce = [&](int step, std::int32_t group, std::size_t distance) {
    auto ends = now;
    for (std::size_t r = 0; r < 4; ++r) {
      ends[r] = std::max(now[r], now[r ^ distance]) + 100'000;
      TraceRecord record;
      record.kind = TraceKind::communication;
      record.collective = CollectiveKind::all_reduce;
      record.name = 1;
      record.group = group;
      record.begin_ns = now[r];
      record.end_ns = ends[r];
      record.step = record.sequence = step;
      traces[r].records.push_back(record);
    }
    now = ends;
  };
  for (int step = 0; step < 20; ++step) {
    for (std::size_t r = 0; r < 4; ++r) {
      TraceRecord record;
      record.begin_ns = now[r];
      record.end_ns = now[r] +=
          1'000'000 + (step * 7 + static_cast<int>(r) * 5) % 11 * 100 + (r == 3 ? slower_ns : 0);
      record.step = step;
      traces[r].step_starts.push_back({step, record.begin_ns});
      traces[r].records.push_back(record);
    }
    reduce(step, 0, 1);
    reduce(step, 1, 2);
  }
  return traces;
}

TEST(StragglerInput, InAMeshTheRankThatAllWaitForIsFoundThroughItsGroups) {
  const std::vector<ClockFit> fits(4, ClockFit{.method = "own"});
  for (const ArrivalClock clock : {ArrivalClock::common, ArrivalClock::own}) {
    const auto input = straggler_input(mesh(200'000), fits, clock);
    ASSERT_EQ(input.places.size(), 4u);  // a row, twice, and a column, twice
    const auto found = find_stragglers(input);
    for (const StragglerRank& rank : found.ranks) {
      const auto expected = rank.rank == 3 ? StragglerPattern::persistent : StragglerPattern::none;
      EXPECT_EQ(rank.pattern, expected) << rank.rank;
    }
    EXPECT_EQ(found.ranks[3].cause, StragglerCause::computation);
    EXPECT_NEAR(found.ranks[3].late_median_ns, 200'000, 2'000);
    EXPECT_EQ(find_stragglers(straggler_input(mesh(0), fits, clock)).verdict,
              StragglerVerdict::none);
  }
}

/// Adds a message from `sender` to `receiver` in each step.
void add_messages(std::vector<RankTrace>& traces, const MessageEnds& ends) {
  for (const std::int64_t rank : {ends.sender, ends.receiver}) {
    RankTrace& trace = traces[static_cast<std::size_t>(rank)];
    trace.groups.push_back(message_group(ends));
    for (const StepStart& start : trace.step_starts) {
      TraceRecord record;
      record.kind = TraceKind::communication;
      record.collective = rank == ends.sender ? CollectiveKind::send : CollectiveKind::receive;
      record.group = static_cast<std::int32_t>(trace.groups.size() - 1);
      record.sequence = record.step = start.step;
      // The receive waits long for its send.
      record.begin_ns = start.begin_ns + (rank == ends.sender ? 100'000 : 0);
      record.end_ns = start.begin_ns + 200'000;
      trace.records.push_back(record);
    }
    put_in_order(trace);
  }
}

TEST(StragglerInput, MessagesAreNoEvidenceAndNeitherAreCollectivesOfRanksTheyConnect) {
  for (unsigned seed = 0; seed < rounds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PlantedJob job = random_planted_job(random);
    job.ranks = 4;
    job.delay = [&](int, int rank) { return PlantedDelay{.compute_scale = rank == 1 ? 1.5 : 1}; };
    const PlantedTraces planted = PlantedRun(job, random).run();
    for (const auto clock : {ArrivalClock::common, ArrivalClock::own}) {
      const auto without = straggler_input(planted.traces, planted.fits, clock);
      EXPECT_EQ(without.messages, 0);
      EXPECT_EQ(without.collectives_of_connected, 0);
      auto traces = planted.traces;
      // Rank 3 is connected with rank 1 by way of rank 0.
      add_messages(traces, {0, 1});
      add_messages(traces, {3, 0});
      const auto input = straggler_input(traces, planted.fits, clock);
      EXPECT_EQ(input.messages, 2 * std::ssize(traces[0].step_starts));
      EXPECT_EQ(input.collectives_of_connected, std::ssize(without.arrivals));
      EXPECT_TRUE(input.arrivals.empty());
      for (const JobStep& step : input.steps)
        for (const RankStep& rank : step.ranks) EXPECT_EQ(rank.blocked_ns, 0);
      for (const StragglerRank& rank : find_stragglers(input).ranks)
        EXPECT_EQ(rank.pattern, StragglerPattern::none);
    }
  }
}

// A kernel of several messages, as batches of sends and receives have, says no ranks.
TEST(StragglerInput, MessagesOfUnknownRanksMayConnectAllOfTheirGroup) {
  std::mt19937_64 random(7);
  PlantedJob job = random_planted_job(random);
  job.ranks = 4;
  const PlantedTraces planted = PlantedRun(job, random).run();
  const auto with_batch = [&](TraceGroup group) {
    auto traces = planted.traces;
    for (RankTrace& trace : traces) {
      for (TraceRecord& record : trace.records)
        if (record.kind == TraceKind::communication) record.group = 0;
      trace.groups = {{"pair", {trace.rank / 2 * 2, trace.rank / 2 * 2 + 1}}, group};
    }
    RankTrace& first = traces.front();
    first.names.push_back("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
    TraceRecord batch;
    batch.kind = TraceKind::communication;
    batch.group = 1;
    batch.name = static_cast<std::uint32_t>(first.names.size() - 1);
    batch.step = first.step_starts.front().step;
    batch.begin_ns = first.step_starts.front().begin_ns;
    batch.end_ns = batch.begin_ns + 1000;
    first.records.push_back(batch);
    put_in_order(first);
    return straggler_input(traces, planted.fits, ArrivalClock::common);
  };
  // Ranks 0 and 2 are of different pairs, 0 and 1 of one.
  const auto across = with_batch({"stages", {0, 2}}), within = with_batch({"stages", {0, 1}}),
             unknown = with_batch({"stages", {}});
  EXPECT_EQ(across.unknown_messages, 1);
  EXPECT_EQ(across.collectives_of_connected, 0);
  EXPECT_GT(within.collectives_of_connected, 0);
  EXPECT_EQ(within.arrivals.size() + static_cast<std::size_t>(within.collectives_of_connected),
            across.arrivals.size());
  EXPECT_TRUE(unknown.arrivals.empty());
  EXPECT_FALSE(across.arrivals.empty());
}

TEST(StragglerInput, CollectivesOfRanksThatNoMessageConnectsCount) {
  std::mt19937_64 random(5);
  PlantedJob job = random_planted_job(random);
  job.ranks = 4;
  auto planted = PlantedRun(job, random).run();
  // Two stages of two ranks: the all-reduces become those of a stage.
  for (RankTrace& trace : planted.traces) {
    const std::int64_t first = trace.rank / 2 * 2;
    trace.groups = {{"stage", {first, first + 1}}};
    for (TraceRecord& record : trace.records)
      if (record.kind == TraceKind::communication) record.group = 0;
  }
  const auto without = straggler_input(planted.traces, planted.fits, ArrivalClock::common);
  add_messages(planted.traces, {0, 2});
  add_messages(planted.traces, {3, 1});
  const auto input = straggler_input(planted.traces, planted.fits, ArrivalClock::common);
  EXPECT_FALSE(input.arrivals.empty());
  EXPECT_EQ(input.arrivals, without.arrivals);
  EXPECT_EQ(input.collectives_of_connected, 0);
}

}  // namespace
}  // namespace hocket
