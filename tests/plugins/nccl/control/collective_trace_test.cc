#include "plugins/nccl/control/collective_trace.h"

#include <gtest/gtest.h>

#include <sstream>

#include "profiler/formats/chrome_import.h"

namespace hocket::nccl {
namespace {

using measure::MeasuredCollective;

MeasuredCollective timed_at(std::uint64_t sequence, std::int64_t start_ns, std::int64_t time_ns) {
  return {.sequence = sequence,
          .bytes = 1 << 20,
          .time_ns = time_ns,
          .start_ns = start_ns,
          .function = abi::kAllReduce,
          .algorithm = abi::kRing,
          .protocol = abi::kSimple,
          .channels = 2,
          .timed_channels = 2};
}

/// Two iterations of two collectives; rank 1's timer is 5 s ahead, and it comes 100 ns later.
std::vector<measure::RankCollectives> two_ranks() {
  std::vector<measure::RankCollectives> all{{.rank = 0, .collectives = {}},
                                            {.rank = 1, .collectives = {}}};
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto start_ns = 1'000'000 + static_cast<std::int64_t>(i) * 10'000;
    all[0].collectives.push_back(timed_at(70 + i, start_ns, 2000));
    all[1].collectives.push_back(timed_at(70 + i, start_ns + 5'000'000'100, 1900));
  }
  return all;
}

TEST(CollectiveTrace, RanksAreBroughtToOneClockAndCollectivesToSteps) {
  const auto traces = traces_of(two_ranks(), 3, 2);
  ASSERT_EQ(traces.size(), 3u);
  EXPECT_EQ(traces[2], "");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    SCOPED_TRACE(traces[rank]);
    std::istringstream text(traces[rank]);
    const auto imported = read_chrome_trace(text);
    ASSERT_TRUE(imported) << imported.error().message;
    ASSERT_EQ(imported->traces.size(), 1u);
    const RankTrace& trace = imported->traces[0];
    EXPECT_EQ(trace.rank, static_cast<std::int64_t>(rank));
    EXPECT_EQ(trace.ranks, 3);
    ASSERT_EQ(trace.records.size(), 4u);
    ASSERT_EQ(trace.step_starts.size(), 3u) << "the last one ends the step before it";
    const TraceRecord& third = trace.records[2];
    EXPECT_EQ(third.kind, TraceKind::communication);
    EXPECT_EQ(third.step, 1);
    EXPECT_EQ(third.sequence, 2);
    EXPECT_EQ(third.bytes, 1 << 20);
    EXPECT_EQ(third.begin_ns, 20'000 + (rank == 1 ? 100 : 0));
    EXPECT_EQ(third.end_ns, 22'000);
    EXPECT_EQ(trace.names[static_cast<std::size_t>(third.name)],
              "all_reduce 1MiB, ring_simple, 2 channels");
  }
}

TEST(CollectiveTrace, AStepHasAboutItsShareWhereCollectivesAreMissing) {
  // Two a step in three iterations would be six.
  for (const std::int64_t iterations : {1, 3, 100}) {
    std::istringstream text(traces_of(two_ranks(), 2, iterations)[0]);
    const auto imported = read_chrome_trace(text);
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_EQ(imported->traces[0].step_starts.size(), iterations == 1 ? 2u : 5u);
  }
}

TEST(CollectiveTrace, NothingMeasuredIsNoTrace) {
  EXPECT_EQ(traces_of({}, 2, 3), std::vector<std::string>(2));
  auto all = two_ranks();
  for (auto& rank : all) {
    for (auto& each : rank.collectives) each.timed_channels = 1;
  }
  EXPECT_EQ(traces_of(all, 2, 3), std::vector<std::string>(2));
}

}  // namespace
}  // namespace hocket::nccl
