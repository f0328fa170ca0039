#include "core/trace/communication_groups.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(CommunicationGroups, AreTheRanksOfTheHostAndThoseAtTheSamePlace) {
  const Mesh mesh(RankGrid{6, 2});
  EXPECT_EQ(trace_group(mesh, 3, CollectiveGroup::inside), (TraceGroup{"host 1", {2, 3}}));
  EXPECT_EQ(trace_group(mesh, 3, CollectiveGroup::between), (TraceGroup{"place 1", {1, 3, 5}}));
  EXPECT_EQ(trace_group(mesh, 3, CollectiveGroup::world), std::nullopt);
  EXPECT_EQ(trace_group(Mesh(RankGrid{4, 4}), 3, CollectiveGroup::inside), std::nullopt);
}

TEST(CommunicationGroups, HaveTheNamesOfTheirAxes) {
  const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 3}}, {6, 3}).value();
  const auto group = [&](const char* text) { return mesh.parse_group(text).value(); };
  EXPECT_EQ(trace_group(mesh, 4, group("data")), (TraceGroup{"data", {3, 4, 5}}));
  EXPECT_EQ(trace_group(mesh, 4, group("pipeline")), (TraceGroup{"pipeline", {1, 4}}));
  EXPECT_EQ(trace_group(mesh, 4, group("pipeline+data")), std::nullopt);
}

TEST(CommunicationGroups, OfAMessageAreItsSenderAndItsReceiver) {
  const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 3}}, {6, 3}).value();
  const CollectiveGroup group = mesh.parse_group("pipeline").value();
  EXPECT_EQ(message_ends(mesh, 4, CollectiveKind::send, group, 0), (MessageEnds{4, 1}));
  EXPECT_EQ(message_ends(mesh, 4, CollectiveKind::receive, group, 0), (MessageEnds{1, 4}));
  EXPECT_EQ(message_ends(mesh, 1, CollectiveKind::send, CollectiveGroup::world, 5),
            (MessageEnds{1, 5}));
}

}  // namespace
}  // namespace hocket
