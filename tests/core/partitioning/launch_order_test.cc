#include "core/partitioning/launch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/partitioning/fixtures.h"

namespace hocket::partitioning {
namespace {

using testing::ElementsAre;

Piece piece_of(StepTask task, std::uint32_t priority = 0, bool deferred = false) {
  Piece piece;
  piece.task = std::move(task);
  piece.task.priority = priority;
  piece.deferred = deferred;
  return piece;
}

std::vector<std::string> names_of(const std::vector<Piece>& pieces) {
  std::vector<std::string> names;
  for (const Piece& piece : pieces) names.push_back(piece.task.name);
  return names;
}

TEST(Launch, OfDeferredCollectivesIsLastInTheOrderOfTheirPriorities) {
  const auto pieces = defer_launches(
      {piece_of(all_reduce("gather1", 64, 1), 1, true), piece_of(all_reduce("sum", 64, 2), 4),
       piece_of(all_reduce("gather0", 64, 0), 0, true),
       piece_of(computation("needs0", {read(DataId{0})}), 9),
       piece_of(computation("other", {update(DataId{3})}), 9),
       piece_of(computation("needs1", {read(DataId{1})}), 9)},
      4);
  EXPECT_THAT(names_of(pieces),
              ElementsAre("sum", "other", "gather0", "needs0", "gather1", "needs1"));
  std::vector<std::uint32_t> priorities;
  for (const Piece& piece : pieces) priorities.push_back(piece.task.priority);
  EXPECT_THAT(priorities, ElementsAre(4, 9, 0, 9, 1, 9));
}

TEST(Launch, TheLongestChainIsMostUrgent) {
  // Each input gradient depends on the previous one; the chains of weight gradients end with their
  // sums.
  std::vector<Piece> pieces{
      piece_of(computation("weights1", {write(DataId{1})}), 7),
      piece_of(computation("inputs1", {update(DataId{0})}), 7),
      piece_of(all_reduce("sum1", 64, 1), 7),
      piece_of(computation("weights0", {read(DataId{0}), write(DataId{2})}), 7),
      piece_of(computation("inputs0", {read(DataId{0})}), 7),
      piece_of(all_reduce("sum0", 64, 2), 7),
      piece_of(computation("update0", {update(DataId{2})}), 7),
  };
  Rules rules{{Rule{}, Rule{}}, {}};
  auto given = pieces;
  prioritise_computations(given, 3, ComputeOrder::given, rules);
  EXPECT_EQ(given[1].task.priority, 7u);

  rules.rules[1].priority = 7;
  pieces[4].rule = 1;
  prioritise_computations(pieces, 3, ComputeOrder::critical_path, rules);
  std::vector<std::uint32_t> priorities;
  for (const Piece& piece : pieces) priorities.push_back(piece.task.priority);
  // Chain lengths behind the tasks: 1, 3, collective, 2, own priority, collective, 0.
  EXPECT_THAT(priorities, ElementsAre(2, 0, 7, 1, 7, 7, 3));
}

TEST(Launch, ComputationsOfARegionTakeTurnsOnItsStreams) {
  Rule limited;
  limited.region = "r";
  limited.streams = 2;
  const Rules rules{{Rule{}, limited}, {}};
  std::vector<Piece> pieces;
  for (const char* const name : {"t0", "t1", "t2"})
    pieces.push_back(piece_of(computation(name, {})));
  pieces.push_back(piece_of(all_reduce("sum", 64, 0)));
  for (Piece& piece : pieces) piece.rule = 1;
  pieces.push_back(piece_of(computation("other", {})));

  std::vector<std::string> data{"a"};
  auto unlimited = pieces;
  limit_streams(unlimited, data, rules, 2);
  EXPECT_TRUE(unlimited[0].task.accesses.empty());
  EXPECT_EQ(data.size(), 1u);

  limit_streams(pieces, data, rules, 3);
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) texts.push_back(text_of(piece.task, data));
  EXPECT_THAT(texts, ElementsAre("t0: update streams r 0", "t1: update streams r 1",
                                 "t2: update streams r 0", "sum: update a", "other:"));
}

}  // namespace
}  // namespace hocket::partitioning
