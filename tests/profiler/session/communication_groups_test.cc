// Tests the groups of ranks in profiles.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sim/simulator.h"
#include "core/trace/paired_collectives.h"
#include "profiler/session/profile_session.h"
#include "tests/profiler/session/session_fixtures.h"

namespace hocket {
namespace {

/// Takes a profile of a rank whose second step has a part of each group.
RankTrace profiled(std::int64_t rank, std::optional<Mesh> mesh) {
  SimulationClock clock;
  ProfileSession session({.clock = clock,
                          .rank = rank,
                          .ranks = 4,
                          .mesh = std::move(mesh),
                          .host = "host",
                          .realtime_ns = [] { return std::int64_t{1}; }});
  EXPECT_TRUE(session.start({.first_step = 0, .steps = 2}));
  for (std::int64_t step = 0; step < 8; ++step) {
    TraceEvent event;
    event.name = "work";
    event.step = step;
    event.begin_ns = 1000 * step;
    event.end_ns = event.begin_ns + 100;
    session.record(event);
    event.kind = TraceKind::communication;
    for (const GroupTier tier : kGroupTiers) {
      event.begin_ns = event.end_ns;
      event.end_ns += 50;
      event.group.tier = tier;
      event.collective = CollectiveKind::reduce_scatter;
      event.sequence = 3 * step + static_cast<std::int64_t>(tier);
      session.record(event);
    }
  }
  session.stop();
  auto profile = session.take();
  EXPECT_TRUE(profile);
  return profile ? profile->trace : RankTrace{};
}

TEST(ProfiledGroups, PartsOfAProfileArePairedWithinTheirGroups) {
  std::vector<RankTrace> traces;
  for (std::int64_t rank = 0; rank < 4; ++rank)
    traces.push_back(profiled(rank, Mesh(RankGrid{4, 2})));
  const PairedCollectives paired(traces);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < paired.size(); ++i) {
    EXPECT_TRUE(paired.is_complete(i));
    names.push_back(paired.groups()[paired[i].group].name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"", "host 0", "host 1", "place 0", "place 1"}));
}

TEST(ProfiledGroups, WithoutAGridOnlyPartsOfAllRanksAreKnown) {
  const RankTrace trace = profiled(1, std::nullopt);
  EXPECT_TRUE(trace.groups.empty());
  const auto known = std::ranges::count_if(
      trace.records, [](const TraceRecord& record) { return record.collective.has_value(); });
  const auto communication = std::ranges::count_if(trace.records, [](const TraceRecord& record) {
    return record.kind == TraceKind::communication;
  });
  EXPECT_GT(known, 0);
  EXPECT_EQ(communication, 3 * known);
}

TEST(ProfiledGroups, AMeshOfOtherRanksSaysNothing) {
  EXPECT_TRUE(profiled(1, Mesh(RankGrid{8, 2})).groups.empty());
  EXPECT_TRUE(profiled(7, Mesh(RankGrid{4, 2})).groups.empty());
}

}  // namespace
}  // namespace hocket
