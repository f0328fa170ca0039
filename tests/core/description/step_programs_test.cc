#include "core/description/step_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

#include "tests/core/description/step_text.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A step of eight ranks on two hosts, with these programs.
std::string with_programs(const std::string& programs, const std::string& fields = "") {
  return document(R"("ranks":8,"ranks_per_host":4,"links":{"host":"100gbit,1us",)"
                  R"("network":"10gbit,5us"},"mesh":[{"name":"pipeline","size":2},)"
                  R"({"name":"data","size":2},{"name":"tensor","size":2}],)" +
                  fields + R"("programs":[)" + programs + "]");
}

constexpr const char* kFirst =
    R"({"name":"first","at":{"pipeline":0},"tasks":[{"name":"forward","duration_ns":5,)"
    R"("writes":["x"]},{"name":"on","kind":"send","group":"pipeline","peer":1,"bytes":64,)"
    R"("reads":["x"]}]})";
constexpr const char* kLast =
    R"({"name":"last","at":{"pipeline":[1]},"tasks":[{"name":"from","kind":"receive",)"
    R"("group":"pipeline","peer_distance":-1,"bytes":64,"writes":["y"]},)"
    R"({"name":"forward","duration_ns":7,"reads":["y"]}]})";

TEST(StepPrograms, AreReadAndWrittenAsTheSame) {
  const StepDescription step = parsed(with_programs(std::string(kFirst) + "," + kLast));
  ASSERT_EQ(step.programs.size(), 2u);
  EXPECT_EQ(step.programs[0].at, (std::vector<ProgramPlace>{{"pipeline", {0}}}));
  EXPECT_THAT(step.programs[0].data, ElementsAre("x"));
  EXPECT_EQ(step.programs[0].tasks[1].peer, (MessagePeer{1, false}));
  EXPECT_EQ(step.programs[1].tasks[0].peer, (MessagePeer{-1, true}));
  EXPECT_EQ(parsed(to_json(step).dump()), step);
  EXPECT_THAT(programs_of_ranks(step).value(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_TRUE(takes_part_by_rank(step));

  const auto steps = program_steps(step);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].tasks, step.programs[1].tasks);
  EXPECT_EQ(steps[1].mesh, step.mesh);
  EXPECT_TRUE(steps[1].programs.empty());
}

TEST(StepPrograms, GoByAllOfTheirPlaces) {
  const std::string task = R"("tasks":[{"duration_ns":1}])";
  const StepDescription step = parsed(with_programs(
      R"({"at":{"pipeline":0,"tensor":[0]},)" + task + R"(},{"at":{"pipeline":0,"tensor":1},)" +
      task + R"(},{"at":{"pipeline":1,"data":[1,0]},)" + task + "}"));
  EXPECT_THAT(programs_of_ranks(step).value(), ElementsAre(0, 1, 0, 1, 2, 2, 2, 2));
}

TEST(StepPrograms, AreThoseOfTheMeshsIndices) {
  for (const std::int64_t per_host : {1, 2, 3, 4, 6, 12}) {
    StepDescription step;
    step.ranks = 24;
    step.ranks_per_host = per_host;
    step.mesh = {{"a", 2}, {"b", 4}, {"c", 3}};
    for (std::int64_t i = 0; i < 4; ++i)
      step.programs.push_back({.name = "", .at = {{"b", {i}}}, .data = {}, .tasks = {}});
    if (!Mesh::make(step.mesh, {step.ranks, step.ranks_per_host})) continue;
    const auto programs = programs_of_ranks(step).value();
    for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
      EXPECT_EQ(programs[static_cast<std::size_t>(rank)],
                mesh_of(step).index_in(AxisSet::of(1), rank));
    }
  }
}

TEST(StepPrograms, EachRankHasOne) {
  EXPECT_THAT(step_error(with_programs(kFirst)),
              AllOf(HasSubstr("rank 4 has no program"), HasSubstr("\"at\"")));
  const std::string all = R"({"name":"all","tasks":[{"duration_ns":1}]})";
  EXPECT_THAT(step_error(with_programs(all + "," + kLast)),
              AllOf(HasSubstr("rank 4 has two programs"), HasSubstr("programs[0] (\"all\")"),
                    HasSubstr("programs[1] (\"last\")")));
}

TEST(StepPrograms, ThatAreWrongAreRefusedByName) {
  const auto at = [](const std::string& places) {
    return with_programs(R"({"name":"p","at":{)" + places + R"(},"tasks":[{"duration_ns":1}]})");
  };
  EXPECT_THAT(step_error(at(R"("stage":0)")),
              AllOf(HasSubstr("\"stage\""), HasSubstr("pipeline, data, tensor")));
  EXPECT_THAT(step_error(at(R"("\u001b[2J":0)")), Not(HasSubstr("\033")));
  EXPECT_THAT(step_error(at(R"("pipeline":2)")), HasSubstr("from 0 to 1, found 2"));
  EXPECT_THAT(step_error(with_programs(R"({"tasks":[]})")), HasSubstr("programs[0]"));
  EXPECT_THAT(step_error(with_programs(kFirst, R"("layers":[{"forward_ns":1}],)")),
              HasSubstr("found more than one"));
  EXPECT_THAT(step_error(with_programs(R"({"tasks":[{"kind":"send","bytes":8}]})")),
              AllOf(HasSubstr("programs[0]: field \"tasks[0]\""), HasSubstr("\"peer\"")));
  EXPECT_THAT(step_error(with_programs(
                  R"({"tasks":[{"kind":"send","bytes":8,"peer":1,"peer_distance":1}]})")),
              HasSubstr("nothing beside the field \"peer\""));
  EXPECT_THAT(step_error(with_programs(R"({"tasks":[{"kind":"send","bytes":8,"peer":8}]})")),
              HasSubstr("0 to 7"));
  EXPECT_THAT(step_error(with_programs(
                  R"({"tasks":[{"kind":"send","bytes":8,"group":"tensor","peer":2}]})")),
              HasSubstr("0 to 1"));
  EXPECT_THAT(step_error(with_programs(kFirst, R"("device_memory_bytes":5,)")),
              HasSubstr("device_memory_bytes"));
}

TEST(StepPrograms, MessagesNeedAKnownCost) {
  const std::string send = R"({"kind":"send","bytes":8,"peer":1})";
  EXPECT_THAT(step_error(document(R"("ranks":2,"collective":{},"tasks":[)" + send + "]")),
              HasSubstr("\"message\""));
  const StepDescription step =
      parsed(document(R"("ranks":2,"message":{"alpha_ns":5},"tasks":[)" + send + "]"));
  EXPECT_EQ(step.message->alpha_ns, 5);
  EXPECT_TRUE(takes_part_by_rank(step));
}

TEST(StepPrograms, ShiftsSayHowFar) {
  const auto with = [](const std::string& field, const std::string& of = R"("ranks":4)") {
    return document(of + R"(,"message":{"alpha_ns":5},"tasks":[{"kind":"shift","bytes":8)" + field +
                    "}]");
  };
  const StepDescription step = parsed(with(R"(,"peer_distance":-3)"));
  EXPECT_EQ(step.tasks[0].peer, (MessagePeer{-3, true}));
  EXPECT_FALSE(takes_part_by_rank(step));
  EXPECT_THAT(step_error(with("")), HasSubstr("a \"peer_distance\""));
  EXPECT_THAT(step_error(with(R"(,"peer":1)")), HasSubstr("a \"peer_distance\""));
  EXPECT_THAT(step_error(with(R"(,"peer_distance":4)")), HasSubstr("-3 to 3"));
  EXPECT_THAT(step_error(with(R"(,"peer_distance":1)", R"("ranks":3,"ranks_per_host":2)")),
              HasSubstr("does not divide"));
  EXPECT_THAT(
      step_error(document(
          R"("ranks":2,"collective":{},"tasks":[{"kind":"shift","bytes":8,"peer_distance":1}])")),
      HasSubstr("\"message\""));
  EXPECT_THAT(step_error(document(R"("ranks":2,"collective":{},"tasks":[)"
                                  R"({"kind":"broadcast","bytes":8,"peer_distance":1}])")),
              HasSubstr("peer_distance"));
}

TEST(StepPrograms, ThatDifferNeedHostsWithEquallyManyRanks) {
  EXPECT_THAT(step_error(document(R"("ranks":3,"ranks_per_host":2,"message":{},"programs":[)"
                                  R"({"tasks":[{"duration_ns":1}]}])")),
              HasSubstr("does not divide"));
}

}  // namespace
}  // namespace hocket
