#include "cli/views/top/ranks_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output/columns.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000, kNow = 100'000 * kMs;

ShownLane waiting(TraceKind kind, std::int32_t lane) {
  return {.kind = kind, .lane = lane, .since_ns = kNow - 5 * kMs};
}

ShownLane computing(std::int32_t lane) {
  return {.kind = TraceKind::compute,
          .lane = lane,
          .state = LaneState::running,
          .since_ns = kNow - 20 * kMs,
          .name = "forward 3",
          .step = 12};
}

ShownRank sending_rank() {
  const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 4}}, {8, 4}).value();
  RankLanes lanes{.pid = 9, .rank = 1, .mesh = mesh};
  lanes.lanes = {computing(0),
                 waiting(TraceKind::compute, 1),
                 {.kind = TraceKind::communication,
                  .lane = 0,
                  .state = LaneState::running,
                  .since_ns = kNow - 41'300 * kMs,
                  .name = "activations",
                  .step = 11,
                  .bytes = 64 << 10,
                  .collective = CollectiveKind::send,
                  .group = {AxisSet::of(0), GroupTier::whole},
                  .peer_rank = 5},
                 {.kind = TraceKind::communication,
                  .lane = 1,
                  .state = LaneState::running,
                  .since_ns = kNow - kMs,
                  .name = "gradients",
                  .is_cut = true,
                  .step = 11,
                  .bytes = 4 << 20,
                  .group = {AxisSet::of(1), GroupTier::whole}}};
  return {.pid = 4711, .command = "train", .lanes = lanes};
}

ShownRank idle_rank() {
  RankLanes lanes{.pid = 4712, .rank = 0, .mesh = Mesh(RankGrid{1, 1})};
  lanes.lanes = {waiting(TraceKind::compute, 0), {.kind = TraceKind::communication}};
  return {.pid = 4712, .command = "train", .lanes = lanes};
}

RanksShown two_ranks() {
  return {.at_unix_ns = 1'795'291'950'000'000'000,
          .at_coarse_ns = kNow,
          .found = {.ranks = {sending_rank(), idle_rank()}}};
}

TEST(RanksView, ThereIsALineALaneThatHasWork) {
  EXPECT_THAT(
      rank_lines(two_ranks(), {100, 24}),
      ElementsAre(
          "hocket top  ranks on this machine  2026-11-21T20:12:30Z  2 ranks",
          " pid  program    rank  step  lane       runs                                       for",
          "4711  train    1 of 8    12  stream 0   forward 3                                20 ms",
          "                         11  channel 0  send of activations, 64 KiB, to rank 5  41.3 s",
          "                         11  channel 1  all-reduce of gradients…, 4 MiB, data   <10 ms",
          "4712  train    0 of 1     -  all        (waits for work)                        <10 "
          "ms"));
}

TEST(RanksView, LanesOfAPlacedStepHaveTheirNames) {
  RanksShown shown = two_ranks();
  shown.found.ranks = {idle_rank()};
  ShownLane copy = computing(0), changing = computing(1);
  copy.kind = TraceKind::copy;
  copy.bytes = 1024;
  changing.state = LaneState::changing;
  ShownLane back = copy;
  back.lane = 1;
  back.name = "";
  shown.found.ranks[0].lanes.lanes = {changing, computing(2), copy, back};
  shown.found.ranks[0].lanes.lanes[0].lane = 0;
  shown.found.ranks[0].lanes.lanes[1].lane = 1;
  const auto lines = rank_lines(shown, {100, 24});
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_THAT(lines[2], HasSubstr("stream 0   (short tasks, one after the other)"));
  EXPECT_THAT(lines[3], HasSubstr("host       forward 3"));
  EXPECT_THAT(lines[4], HasSubstr("to device  forward 3, 1 KiB"));
  EXPECT_THAT(lines[5], HasSubstr("to host    (no name), 1 KiB"));
}

TEST(RanksView, RanksThatDoNotFitAreCounted) {
  RanksShown shown = two_ranks();
  shown.found.ranks.push_back(idle_rank());
  shown.found.ranks.back().is_stopped = true;
  EXPECT_THAT(rank_lines(shown, {100, 6}),
              ElementsAre(HasSubstr("3 ranks"), HasSubstr("pid"), HasSubstr("forward"),
                          HasSubstr("send"), HasSubstr("all-reduce"), "and 2 more ranks"));
  EXPECT_EQ(rank_lines(shown, {100, 7}), rank_lines(shown, {100, 0}));
  EXPECT_THAT(rank_lines(shown, {100, 0}).back(), HasSubstr("4712  train (stopped)"));
  for (std::size_t height = 1; height < 9; ++height)
    EXPECT_LE(rank_lines(shown, {100, height}).size(), height);
}

TEST(RanksView, NoLineIsWiderThanTheScreen) {
  RanksShown shown = two_ranks();
  shown.found.problems = {"process 17: lanes of a rank: version: expected 1, found 2"};
  for (std::size_t width = 1; width < 100; ++width) {
    for (const std::string& line : rank_lines(shown, {width, 24}))
      EXPECT_LE(columns_of(line), width);
  }
  EXPECT_EQ(rank_lines(shown, {100, 24})[1], shown.found.problems[0]);
}

TEST(RanksView, WithoutRanksItSaysSo) {
  EXPECT_THAT(rank_lines({.at_unix_ns = 1, .at_coarse_ns = kNow}, {100, 24}),
              ElementsAre(HasSubstr("0 ranks"), HasSubstr("No process")));
}

TEST(RanksView, TimesThatCannotBeAreNotShown) {
  RanksShown shown = two_ranks();
  shown.at_coarse_ns = kNow - 50 * kMs;
  EXPECT_TRUE(rank_lines(shown, {100, 24})[2].ends_with("  -"));
}

}  // namespace
}  // namespace hocket
