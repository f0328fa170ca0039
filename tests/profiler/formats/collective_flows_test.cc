#include "profiler/formats/collective_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/trace/message_ends.h"
#include "core/trace/paired_collectives.h"
#include "profiler/formats/file_clock.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A mesh of `rows` by two ranks: collectives of all ranks and of rows, with random arrivals.
struct FlowMesh {
  std::vector<RankTrace> traces;
  std::vector<ClockFit> fits;

  FlowMesh(std::int64_t rows, std::int64_t collectives, std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (std::int64_t rank = 0; rank < 2 * rows; ++rank) {
      RankTrace trace;
      trace.rank = rank;
      trace.ranks = 2 * rows;
      trace.names = {"gradient"};
      trace.groups = {{"row", {rank / 2 * 2, rank / 2 * 2 + 1}}};
      const std::int64_t ahead_ns = rank == 0 ? 0 : below(1'000'000);
      for (std::int64_t i = 0; i < collectives; ++i) {
        TraceRecord record;
        record.kind = TraceKind::communication;
        record.collective = CollectiveKind::all_reduce;
        record.group = i % 2 == 0 ? kAllRanks : 0;
        record.sequence = i / 2;
        record.begin_ns = 2'000'000 + ahead_ns + 1000 * i + below(100);
        record.end_ns = 2'000'000 + ahead_ns + 1000 * i + 150;
        trace.records.push_back(record);
      }
      traces.push_back(std::move(trace));
      fits.push_back({.offset_ns = static_cast<double>(-ahead_ns), .method = "exchange"});
    }
  }
};

TEST(CollectiveFlows, JoinThePartsOfOneGroupFromTheLastToTheOthers) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const FlowMesh mesh(1 + static_cast<std::int64_t>(seed % 4), 6, random);
    const CollectiveFlows flows(mesh.traces, mesh.fits);
    EXPECT_THAT(flows.notes(), IsEmpty());
    struct Place {
      std::size_t trace = 0, index = 0;
    };
    std::map<std::uint64_t, Place> from;
    std::size_t arrows = 0;
    for (std::size_t trace = 0; trace < mesh.traces.size(); ++trace) {
      for (std::size_t i = 0; i < 6; ++i) {
        const PartFlows part = flows.of(trace, i);
        for (std::uint64_t j = 0; j < part.outgoing; ++j)
          EXPECT_TRUE(from.emplace(part.first_outgoing + j, Place{trace, i}).second);
      }
    }
    for (std::size_t trace = 0; trace < mesh.traces.size(); ++trace) {
      for (std::size_t i = 0; i < 6; ++i) {
        const PartFlows part = flows.of(trace, i);
        if (part.incoming == 0) continue;
        ++arrows;
        ASSERT_TRUE(from.contains(part.incoming));
        const auto [other, index] = from.at(part.incoming);
        EXPECT_EQ(index, i) << "one collective";
        EXPECT_NE(other, trace);
        EXPECT_TRUE(i % 2 == 0 || other / 2 == trace / 2) << "of one row";
        const auto at = [&](std::size_t rank) {
          return FileClock::on_reference(mesh.fits[rank], mesh.traces[rank].records[i].begin_ns);
        };
        EXPECT_GE(at(other), at(trace));
        EXPECT_EQ(part.wait_ns, at(other) - at(trace));
        EXPECT_EQ(flows.of(other, i).late_ns, *part.late_ns + *part.wait_ns);
        EXPECT_EQ(part.waited_for.value_or(mesh.traces[other].rank), mesh.traces[other].rank);
      }
    }
    // Three collectives of all ranks and three of each row of two.
    EXPECT_EQ(arrows, 3 * (mesh.traces.size() - 1) + 3 * mesh.traces.size() / 2);
    EXPECT_EQ(from.size(), arrows);
  }
}

TEST(CollectiveFlows, KeepTheLargestSkewsWhereThereAreTooMany) {
  std::mt19937_64 random(7);
  const FlowMesh mesh(1, 40, random);
  const CollectiveFlows flows(mesh.traces, mesh.fits, 10);
  std::int64_t least_joined = 1000, most_left = 0, joined = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const PartFlows a = flows.of(0, i), b = flows.of(1, i);
    const std::int64_t skew_ns = std::max(*a.late_ns, *b.late_ns);
    const bool is_joined = a.incoming + b.incoming != 0;
    joined += is_joined;
    if (is_joined) least_joined = std::min(least_joined, skew_ns);
    if (!is_joined) most_left = std::max(most_left, skew_ns);
  }
  EXPECT_EQ(joined, 10);
  EXPECT_GE(least_joined, most_left);
  EXPECT_THAT(flows.notes(), ElementsAre(HasSubstr("10 of 40 collectives")));
}

TEST(CollectiveFlows, SayNothingThatClocksDoNotTell) {
  std::mt19937_64 random(1);
  FlowMesh mesh(1, 2, random);
  mesh.fits[1].residual_ns = 500;
  PartFlows part = CollectiveFlows(mesh.traces, mesh.fits).of(0, 0);
  EXPECT_TRUE(part.late_ns);
  EXPECT_EQ(part.clock_error_ns, 500);
  EXPECT_FALSE(part.waited_for) << "arrivals differ by less than the clocks";
  mesh.fits[1].method = "none";
  const CollectiveFlows flows(mesh.traces, mesh.fits);
  EXPECT_EQ(flows.of(0, 0), PartFlows());
  EXPECT_THAT(flows.notes(), ElementsAre(HasSubstr("rank 1's clock is related to no other")));
}

TEST(CollectiveFlows, AreNotDescribedWithoutAllRanks) {
  std::mt19937_64 random(3);
  FlowMesh mesh(2, 2, random);
  mesh.traces.pop_back();
  mesh.fits.pop_back();
  const CollectiveFlows flows(mesh.traces, mesh.fits);
  std::size_t arrows = 0;
  for (std::size_t trace = 0; trace < 3; ++trace) {
    arrows += flows.of(trace, 0).incoming != 0;
    EXPECT_FALSE(flows.of(trace, 0).late_ns) << "rank 3 may have come first or last";
  }
  EXPECT_EQ(arrows, 2U);
  EXPECT_TRUE(flows.of(0, 1).late_ns) << "both ranks of the first row are there";
}

TEST(CollectiveFlows, HaveNoArrowToAPartThatEndedBefore) {
  std::mt19937_64 random(4);
  FlowMesh mesh(1, 1, random);
  mesh.traces[0].records[0].begin_ns = 0;
  mesh.traces[0].records[0].end_ns = 5;
  const CollectiveFlows flows(mesh.traces, mesh.fits);
  EXPECT_EQ(flows.of(0, 0).incoming, 0U);
  EXPECT_EQ(flows.of(1, 0).outgoing, 0U);
}

/// Returns the part of a message from rank 0 to rank 1.
RankTrace message_part(std::int64_t rank, std::int64_t begin_ns, std::int64_t end_ns) {
  RankTrace trace;
  trace.rank = rank;
  trace.ranks = 2;
  trace.names = {"activations"};
  trace.groups = {message_group({0, 1})};
  TraceRecord record;
  record.kind = TraceKind::communication;
  record.collective = rank == 0 ? CollectiveKind::send : CollectiveKind::receive;
  record.group = 0;
  record.sequence = 0;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  trace.records = {record};
  return trace;
}

TEST(CollectiveFlows, OfAMessageLeadFromTheSendWhoeverCameLast) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto any_ns = [&] { return static_cast<std::int64_t>(1 + random() % 100); };
    const std::int64_t send_ns = any_ns(), receive_ns = any_ns();
    const std::vector<RankTrace> traces{message_part(0, send_ns, send_ns + any_ns()),
                                        message_part(1, receive_ns, receive_ns + any_ns())};
    const std::vector<ClockFit> fits{{.method = "own"}, {.residual_ns = 10, .method = "exchange"}};
    const CollectiveFlows flows(traces, fits);
    const PartFlows send = flows.of(0, 0), receive = flows.of(1, 0);
    const bool can_be = traces[1].records[0].end_ns > send_ns;
    EXPECT_EQ(send.outgoing, can_be ? 1U : 0U);
    EXPECT_EQ(receive.incoming, can_be ? send.first_outgoing : 0U);
    EXPECT_EQ(receive.outgoing, 0U);
    EXPECT_EQ(send.incoming, 0U);
    // An eager send waits for nobody, and no trace tells whether one is.
    EXPECT_FALSE(send.wait_ns);
    EXPECT_FALSE(send.waited_for);
    EXPECT_EQ(send.late_ns, std::max<std::int64_t>(send_ns - receive_ns, 0));
    EXPECT_EQ(receive.wait_ns, std::max<std::int64_t>(send_ns - receive_ns, 0));
    EXPECT_EQ(receive.late_ns, std::max<std::int64_t>(receive_ns - send_ns, 0));
    EXPECT_EQ(receive.waited_for,
              send_ns - receive_ns > 10 ? std::optional<std::int64_t>(0) : std::nullopt);
    EXPECT_EQ(receive.clock_error_ns, 10);
  }
}

TEST(CollectiveFlows, DoNotJoinTwoSends) {
  std::vector<RankTrace> traces{message_part(0, 10, 90), message_part(1, 20, 90)};
  traces[1].groups[0].ranks = {1, 0};
  traces[1].records[0].collective = CollectiveKind::send;
  const std::vector<ClockFit> fits{{.method = "own"}, {.method = "exchange"}};
  const CollectiveFlows flows(traces, fits);
  EXPECT_EQ(flows.of(0, 0), PartFlows());
  EXPECT_EQ(flows.of(1, 0), PartFlows());
}

}  // namespace
}  // namespace hocket
