#include "core/description/step_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "tests/core/description/random_places.h"
#include "tests/core/description/step_text.h"
#include "tests/core/random_step_description.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSimple =
    R"({"format":"hocket-step","version":1,"layers":[{"name":"conv","parameter_bytes":7000,)"
    R"("forward_ns":5000,"backward_ns":9000},{"name":"fc6","parameter_bytes":411060000,)"
    R"("forward_ns":2900000,"backward_ns":4600000}],"collective":{"alpha_ns":40000,)"
    R"("beta_ns_per_byte":0.14,"latency_ns":300000},"compute_slowdown":0.01})";

/// Returns "MODE NAME" of each access.
std::vector<std::string> accesses_of(const StepDescription& step, const StepTask& task) {
  constexpr const char* modes[] = {"reads ", "writes ", "updates "};
  std::vector<std::string> accesses;
  for (const Access& access : task.accesses)
    accesses.push_back(modes[static_cast<int>(access.mode)] + step.data[access.data.index]);
  return accesses;
}

TEST(StepDescription, ReadsTheSimpleForm) {
  const StepDescription step = parsed(kSimple);
  ASSERT_EQ(step.layers.size(), 2u);
  EXPECT_EQ(step.layers[1], (StepLayer{"fc6", 411'060'000, 2'900'000, 4'600'000}));
  EXPECT_EQ(step.collective, (PartCost{40'000, 0.14, 300'000}));
  EXPECT_EQ(step.compute_slowdown, 0.01);
  EXPECT_EQ(step.ranks, 1);
  EXPECT_FALSE(step.cluster);
}

TEST(StepDescription, AllButLayersAndCollectiveIsOptional) {
  EXPECT_EQ(parsed(document(R"("layers":[{}],"collective":{})")).layers[0], StepLayer{});
  EXPECT_EQ(parsed(document(R"("layers":[{"forward_ns":7}])")).layers[0].forward_ns, 7);
  EXPECT_THAT(step_error(document(R"("layers":[{"parameter_bytes":7}])")),
              HasSubstr(R"(field "collective" is missing)"));
  EXPECT_THAT(step_error(document(R"("collective":{})")),
              HasSubstr(R"("layers", "tasks" and "programs")"));
}

TEST(StepDescription, TimesAreRoundedToNanoseconds) {
  const StepDescription step = parsed(with_layer(R"("forward_ns":1.5,"backward_ns":2.4e3)"));
  EXPECT_EQ(step.layers[1].forward_ns, 2);
  EXPECT_EQ(step.layers[1].backward_ns, 2400);
}

TEST(StepDescription, ReadsTheGeneralForm) {
  const StepDescription step = parsed(
      with_tasks(R"({"name":"a","duration_ns":5,"writes":["x"]},)"
                 R"({"name":"b","kind":"reduce_scatter","bytes":64,"priority":3,"updates":["x"],)"
                 R"("after":["a"]},)"
                 R"({"name":"c","kind":"compute","reads":["x","y"],"after":["a","b"]})"));
  EXPECT_THAT(step.data, ElementsAre("x", "after:a", "after:b", "y"));
  ASSERT_EQ(step.tasks.size(), 3u);
  EXPECT_EQ(step.tasks[0].duration_ns, 5);
  EXPECT_FALSE(step.tasks[0].collective);
  EXPECT_EQ(step.tasks[1].collective, CollectiveKind::reduce_scatter);
  EXPECT_EQ(step.tasks[1].bytes, 64);
  EXPECT_EQ(step.tasks[1].priority, 3u);
  EXPECT_THAT(accesses_of(step, step.tasks[0]), ElementsAre("writes x", "writes after:a"));
  EXPECT_THAT(accesses_of(step, step.tasks[1]),
              ElementsAre("reads after:a", "writes after:b", "updates x"));
  EXPECT_THAT(accesses_of(step, step.tasks[2]),
              ElementsAre("reads x", "reads y", "reads after:a", "reads after:b"));
  EXPECT_EQ(parsed(to_json(step).dump()), step);
}

TEST(StepDescription, ReadsWhereTasksBelong) {
  const StepDescription step = parsed(document(
      R"("collective":{},"ranks":4,"ranks_per_host":2,"micro_batch_bytes":100,)"
      R"("memory_limit_bytes":250,"tasks":[)"
      R"({"name":"a","duration_ns":5,"region":"backward_layer1","micro_batch":1,"writes":["x"],)"
      R"("dimensions":[{"name":"rows","extent":8,"slices":[{"data":"x","begin_bytes":64,)"
      R"("bytes_per_unit":128,"tail_bytes":4,"of_block":true}],"piece_ns":7},{"name":"heads",)"
      R"("kind":"normalized"}]},{"kind":"all_reduce","bytes":64,"group":"between",)"
      R"("region":"sum","updates":["x"]}])"));
  EXPECT_EQ(step.micro_batch_bytes, 100);
  EXPECT_EQ(step.memory_limit_bytes, 250);
  ASSERT_EQ(step.tasks.size(), 2u);
  const TaskPlace& place = step.tasks[0].place;
  EXPECT_EQ(place.region, "backward_layer1");
  EXPECT_EQ(place.micro_batch, 1u);
  ASSERT_EQ(place.dimensions.size(), 2u);
  EXPECT_EQ(place.dimensions[0], (Dimension{.name = "rows",
                                            .kind = DimensionKind::outer,
                                            .extent = 8,
                                            .slices = {{DataId{0}, 64, 128, 4, true}},
                                            .piece_ns = 7}));
  EXPECT_EQ(place.dimensions[1].kind, DimensionKind::normalized);
  EXPECT_EQ(step.tasks[1].group, CollectiveGroup::between);
  EXPECT_EQ(step.tasks[1].place.region, "sum");
  EXPECT_EQ(step.tasks[1].place.micro_batch, kNoMicroBatch);
  EXPECT_EQ(parsed(to_json(step).dump()), step);
}

constexpr const char* kMesh =
    R"("links":{"host":"100gbit","network":"10gbit"},"ranks":8,"ranks_per_host":4,)"
    R"("mesh":[{"name":"data","size":4},{"name":"tensor","size":2}],)";

TEST(StepDescription, TasksHaveGroupsOfTheMesh) {
  const StepDescription step = parsed(
      document(kMesh + std::string(R"("tasks":[{"kind":"all_reduce","bytes":64,"group":"tensor"},)"
                                   R"({"kind":"all_reduce","bytes":64,"group":"data:between"},)"
                                   R"({"kind":"all_reduce","bytes":64,"group":"data+tensor"}])")));
  EXPECT_EQ(step.tasks[0].group, CollectiveGroup{AxisSet::of(1)});
  EXPECT_EQ(step.tasks[1].group, (CollectiveGroup{AxisSet::of(0), GroupTier::between}));
  EXPECT_EQ(step.tasks[2].group, CollectiveGroup::world);
  EXPECT_EQ(mesh_of(step).size_of(step.tasks[0].group), 2);
  EXPECT_EQ(parsed(to_json(step).dump()), step);
}

TEST(StepDescription, GroupsThatNoMeshHasAreRefused) {
  const auto with_group = [](const std::string& fields, const std::string& group) {
    return step_error(document(fields + R"("tasks":[{"kind":"all_reduce","bytes":64,"group":")" +
                               group + R"("}])"));
  };
  EXPECT_THAT(with_group(kMesh, "expert"),
              AllOf(HasSubstr("tasks[0].group"), HasSubstr("(data, tensor)")));
  EXPECT_THAT(with_group(R"("collective":{},)", "tensor"), HasSubstr("(none)"));
  // The cost of a part among all ranks says nothing of some.
  EXPECT_THAT(with_group(R"("collective":{},"ranks":4,"ranks_per_host":2,)"
                         R"("mesh":[{"name":"data","size":2},{"name":"tensor","size":2}],)",
                         "tensor"),
              AllOf(HasSubstr("tasks[0].group"), HasSubstr("\"links\""), HasSubstr("tensor")));
  EXPECT_THAT(with_group(R"("collective":{},"ranks":4,"mesh":[{"name":"data","size":3}],)", "data"),
              HasSubstr("the 4 ranks"));
}

TEST(StepDescription, StepsDifferByWhereTasksBelong) {
  const StepDescription step =
      parsed(with_tasks(R"({"name":"a"},{"kind":"all_reduce","bytes":64})"));
  const auto differs = [&](auto change) {
    StepDescription other = step;
    change(other);
    return !(other == step);
  };
  EXPECT_FALSE(differs([](StepDescription&) {}));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[0].place.region = "r"; }));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[0].place.micro_batch = 0; }));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[0].place.dimensions.resize(1); }));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[1].group = CollectiveGroup::inside; }));
}

TEST(StepDescription, WhereTasksBelongIsChecked) {
  const auto with_dimension = [](const std::string& fields) {
    return with_tasks(R"({"name":"a","writes":["x"],"dimensions":[{)" + fields + "}]}");
  };
  const auto with_slice = [&](const std::string& fields) {
    return with_dimension(R"("name":"n","extent":1099511627776,"slices":[{"data":"x",)" + fields +
                          "}]");
  };
  EXPECT_THAT(step_error(with_tasks(R"({"region":3})")), HasSubstr("tasks[0].region"));
  EXPECT_THAT(step_error(with_tasks(R"({"micro_batch":65536})")),
              HasSubstr(R"("tasks[0].micro_batch": expected an integer from 0 to 65535)"));
  EXPECT_THAT(step_error(with_tasks(R"({"group":"inside"})")), HasSubstr("tasks[0].group"));
  EXPECT_THAT(step_error(with_tasks(R"({"kind":"all_reduce","bytes":1,"group":"host"})")),
              HasSubstr("axes of the mesh (none) joined by \"+\", found \"host\""));
  EXPECT_THAT(step_error(document(R"("collective":{},"ranks":6,"ranks_per_host":4,"tasks":[)"
                                  R"({"kind":"all_reduce","bytes":1,"group":"inside"}])")),
              HasSubstr("ranks_per_host (4) does not divide ranks (6)"));
  EXPECT_THAT(step_error(with_tasks(R"({"kind":"all_reduce","bytes":1,"dimensions":[]})")),
              HasSubstr("tasks[0].dimensions"));
  EXPECT_THAT(step_error(with_dimension("")), HasSubstr("tasks[0].dimensions[0].name"));
  EXPECT_THAT(step_error(with_dimension(R"("name":"n"},{"name":"n")")),
              HasSubstr("tasks[0].dimensions[1].name"));
  EXPECT_THAT(step_error(with_dimension(R"("name":"n","kind":"inner")")),
              HasSubstr("one of outer, contraction, normalized"));
  EXPECT_THAT(step_error(with_dimension(R"("name":"n","extent":0)")),
              HasSubstr("tasks[0].dimensions[0].extent"));
  EXPECT_THAT(step_error(with_dimension(R"("name":"n","slices":[{"data":"y"}])")),
              AllOf(HasSubstr(R"("tasks[0].dimensions[0].slices[0].data": expected the name)"),
                    HasSubstr(R"(found "y")")));
  EXPECT_THAT(step_error(with_slice(R"("of_block":1)")),
              HasSubstr("tasks[0].dimensions[0].slices[0].of_block"));
  EXPECT_THAT(step_error(with_slice(R"("begin_bytes":-1)")),
              HasSubstr("tasks[0].dimensions[0].slices[0].begin_bytes"));
  EXPECT_EQ(step_error(with_slice(R"("bytes_per_unit":4)")), "no error");
  EXPECT_THAT(step_error(with_slice(R"("bytes_per_unit":4,"tail_bytes":1)")),
              HasSubstr("at most 4398046511104 bytes together"));
  EXPECT_THAT(step_error(with_slice(R"("bytes_per_unit":4398046511104)")),
              HasSubstr("at most 4398046511104 bytes together"));
  EXPECT_THAT(step_error(with_top(R"("memory_limit_bytes":-1)")), HasSubstr("memory_limit_bytes"));
}

TEST(StepDescription, ReadsLinksAsTextOrFields) {
  const StepDescription text = parsed(with_top(
      R"("links":{"host":"100gbit,2us","network":"10gbit,20us"},"algorithm":"tree","ranks":16)"));
  ASSERT_TRUE(text.cluster);
  EXPECT_EQ(text.cluster->host_link, (LinkSpec{12.5e9, 2000}));
  EXPECT_EQ(text.cluster->network_link, (LinkSpec{1.25e9, 20'000}));
  EXPECT_EQ(text.cluster->algorithm, CollectiveAlgorithm::tree);
  const StepDescription fields =
      parsed(with_top(R"("links":{"host":{"bandwidth_bytes_per_second":12.5e9,"latency_ns":2000},)"
                      R"("network":{"bandwidth_bytes_per_second":1250000000,"latency_ns":2e4}},)"
                      R"("algorithm":"tree","ranks":16)"));
  EXPECT_EQ(fields, text);
  const StepDescription one = parsed(with_top(R"("links":{"network":"10gbit"})"));
  EXPECT_EQ(one.cluster->host_link, one.cluster->network_link);
}

TEST(StepDescription, ErrorsNameTheFieldWhatWasFoundAndTheRange) {
  EXPECT_THAT(step_error(with_layer(R"("forward_ns":-1)")),
              AllOf(HasSubstr(R"(field "layers[1].forward_ns")"), HasSubstr("found -1"),
                    HasSubstr("3600000000000")));
  EXPECT_THAT(step_error(with_layer(R"("forward_ns":NaN)")), HasSubstr("layers[1].forward_ns"));
  EXPECT_THAT(step_error(with_layer(R"("backward_ns":1e999)")), HasSubstr("layers[1].backward_ns"));
  EXPECT_THAT(step_error(with_layer(R"("backward_ns":1e18)")), HasSubstr("layers[1].backward_ns"));
  EXPECT_THAT(step_error(with_layer(R"("backward_ns":"3")")), HasSubstr("layers[1].backward_ns"));
  EXPECT_THAT(step_error(with_layer(R"("parameter_bytes":18446744073709551616)")),
              HasSubstr("layers[1].parameter_bytes"));
  EXPECT_THAT(step_error(with_layer(R"("parameter_bytes":1.5)")),
              HasSubstr("an integer from 0 to"));
  EXPECT_THAT(step_error(with_layer(R"("name":3)")), HasSubstr("layers[1].name"));
  EXPECT_THAT(step_error(with_top(R"("ranks":0)")),
              HasSubstr(R"(field "ranks": expected an integer from 1 to 16777216, found 0)"));
  EXPECT_THAT(step_error(with_top(R"("ranks_per_host":0)")), HasSubstr("ranks_per_host"));
  EXPECT_THAT(step_error(with_top(R"("compute_slowdown":101)")), HasSubstr("compute_slowdown"));
  EXPECT_THAT(step_error(with_top(R"("compute_slowdown":-0.1)")), HasSubstr("compute_slowdown"));
  EXPECT_THAT(step_error(with_top(R"("links":{})")), HasSubstr(R"(field "links")"));
  EXPECT_THAT(step_error(with_top(R"("links":{"host":"fast"})")), HasSubstr("links.host"));
  EXPECT_THAT(step_error(with_top(R"("links":{"host":{"latency_ns":1}})")),
              HasSubstr("links.host.bandwidth_bytes_per_second"));
  EXPECT_THAT(step_error(with_top(R"("algorithm":"ring")")), HasSubstr(R"("algorithm")"));
  EXPECT_THAT(step_error(with_top(R"("links":{"host":"1gbit"},"algorithm":"star")")),
              HasSubstr("one of automatic, ring, tree, found \"star\""));
  EXPECT_THAT(step_error(with_top(R"("jitter":{"distribution":"cauchy"})")),
              HasSubstr("jitter.distribution"));
  EXPECT_THAT(step_error(with_top(R"("jitter":{"scale":-1})")), HasSubstr("jitter.scale"));
  EXPECT_THAT(step_error(with_top(R"("quality":{"uncertainty":0.5})")),
              HasSubstr("quality.uncertainty"));
  EXPECT_THAT(step_error(with_top(R"("prediction_withheld":true)")),
              HasSubstr("prediction_withheld"));
  EXPECT_THAT(step_error(with_top(R"("ranks":2,"rank_compute_scale":[1])")),
              HasSubstr("one number for each of the 2 ranks"));
  EXPECT_THAT(step_error(with_top(R"("rank_compute_scale":[0])")),
              HasSubstr("rank_compute_scale[0]"));
  EXPECT_THAT(step_error(document(R"("layers":[{}],"collective":{"alpha_ns":-5})")),
              HasSubstr("collective.alpha_ns"));
  EXPECT_THAT(step_error(with_top(R"("collective_inside":{"latency_ns":-5})")),
              HasSubstr("collective_inside.latency_ns"));
  EXPECT_THAT(step_error(with_top(R"("collective_between":3)")), HasSubstr("collective_between"));
  EXPECT_THAT(step_error(document(R"("layers":{})")), HasSubstr("expected an array"));
  EXPECT_THAT(step_error(document(R"("layers":[3])")), HasSubstr("layers[0]"));
  EXPECT_THAT(step_error(with_top(R"("tasks":[{}])")), HasSubstr("found more than one"));
  EXPECT_THAT(step_error(R"({"format":"hocket-step","version":2})"), HasSubstr("newer hocket"));
  EXPECT_THAT(step_error(R"({"format":"hocket-tape","version":1})"), HasSubstr("hocket-step"));
}

TEST(StepDescription, UnknownFieldsAreErrorsThatNameTheNearest) {
  EXPECT_THAT(
      step_error(with_layer(R"("foward_ns":1)")),
      HasSubstr(R"(field "layers[1].foward_ns" is not known here; did you mean "forward_ns")"));
  EXPECT_THAT(step_error(with_top(R"("compute_slow_down":0)")),
              HasSubstr(R"(did you mean "compute_slowdown")"));
  EXPECT_THAT(step_error(with_top(R"("quux":0)")),
              AllOf(HasSubstr(R"(field "quux" is not known)"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(step_error(document(R"("layers":[{}],"collective":{"alpha":1})")),
              HasSubstr(R"("collective.alpha" is not known)"));
  EXPECT_THAT(step_error(with_top(R"("jitter":{"sede":1})")), HasSubstr(R"(did you mean "seed")"));
  EXPECT_THAT(step_error(with_top(R"("links":{"hosts":"1gbit"})")), HasSubstr("links"));
  EXPECT_THAT(step_error(with_tasks(R"({"name":"a","bytes":3})")), HasSubstr("tasks[0].bytes"));
  EXPECT_THAT(step_error(with_tasks(R"({"kind":"all_reduce","bytes":3,"duration_ns":1})")),
              HasSubstr("tasks[0].duration_ns"));
}

TEST(StepDescription, ATaskWaitsForEarlierOnesAlone) {
  for (const char* tasks :
       {R"({"name":"a"},{"name":"b","after":["b"]})", R"({"name":"a"},{"after":[""]})",
        R"({"name":"a"},{"after":["c"]},{"name":"c"})", R"({"name":"a"},{"after":["nobody"]})"}) {
    EXPECT_THAT(step_error(with_tasks(tasks)),
                AllOf(HasSubstr(R"(field "tasks[1].after[0]")"), HasSubstr("would be a cycle")))
        << tasks;
  }
}

TEST(StepDescription, TasksAreCheckedOneByOne) {
  EXPECT_THAT(step_error(with_tasks(R"({"name":"a"},{"name":"a"})")), HasSubstr("tasks[1].name"));
  EXPECT_EQ(parsed(with_tasks("{},{}")).tasks.size(), 2u);
  EXPECT_THAT(
      step_error(with_tasks(R"({"kind":"gather"})")),
      HasSubstr("one of compute, all_reduce, reduce_scatter, all_gather, broadcast, all_to_all"));
  EXPECT_THAT(step_error(with_tasks(R"({"kind":"broadcast"})")),
              HasSubstr(R"(field "tasks[0].bytes" is missing)"));
  EXPECT_THAT(step_error(with_tasks(R"({"priority":262144})")), HasSubstr("tasks[0].priority"));
  EXPECT_THAT(step_error(with_tasks(R"({"reads":["x"],"writes":["x"]})")),
              HasSubstr(R"(field "tasks[0]": expected each of its data once)"));
  EXPECT_THAT(step_error(with_tasks(R"({"reads":[3]})")), HasSubstr("tasks[0].reads[0]"));
  EXPECT_THAT(step_error(with_tasks(R"({"reads":"x"})")), HasSubstr("tasks[0].reads"));
}

TEST(StepDescription, SumsAreBounded) {
  StepDescription step;
  step.layers.assign(300, {"", kMaxStepTaskBytes, 0, 0});
  EXPECT_THAT(validation_of(step),
              HasSubstr(R"(field "layers": expected at most 1125899906842624)"));
  step.layers.assign(200, {"", 0, kMaxStepTaskNs, kMaxStepTaskNs});
  EXPECT_THAT(validation_of(step), HasSubstr(R"(field "layers")"));
  step.layers.resize(100);
  EXPECT_EQ(validation_of(step), "no error");
  step.compute_slowdown = 100;
  EXPECT_THAT(validation_of(step), HasSubstr("on the slowest rank"));

  step = StepDescription{};
  step.layers.assign(256, {"", kMaxStepTaskBytes, 0, 0});
  EXPECT_EQ(validation_of(step), "no error");
  step.collective.beta_ns_per_byte = 1;
  EXPECT_THAT(validation_of(step), HasSubstr("collective.beta_ns_per_byte"));
  step.collective.beta_ns_per_byte = 0;
  step.collective_between = PartCost{0, 1, 0};
  EXPECT_THAT(validation_of(step), HasSubstr("collective_between.beta_ns_per_byte"));
  step.collective_inside = std::exchange(step.collective_between, std::nullopt);
  EXPECT_THAT(validation_of(step), HasSubstr("collective_inside.beta_ns_per_byte"));
  step.collective_inside.reset();
  step.cluster = Cluster{{1e9, 0}, {1e12, 0}, CollectiveAlgorithm::automatic};
  EXPECT_THAT(validation_of(step), HasSubstr(R"(field "links")"));
  step.cluster = Cluster{{1e12, 0}, {1e12, 1'000'000}, CollectiveAlgorithm::automatic};
  step.layers.resize(1);
  EXPECT_EQ(validation_of(step), "no error");
  step.ranks = kMaxStepRanks;
  EXPECT_THAT(validation_of(step), HasSubstr("latencies"));

  // The bound holds however finely computations are divided.
  step = StepDescription{};
  step.tasks.resize(4);
  for (StepTask& task : step.tasks)
    task.place.dimensions = {{.name = "rows", .slices = {}, .piece_ns = kMaxStepTaskNs}};
  EXPECT_EQ(validation_of(step), "no error");
  step.tasks.resize(5, step.tasks.front());
  EXPECT_THAT(validation_of(step), HasSubstr("on the slowest rank"));
}

TEST(StepDescription, ValuesThatNoTextGaveAreChecked) {
  StepDescription step = parsed(kSimple);
  step.layers[0].forward_ns = -1;
  EXPECT_THAT(validation_of(step), HasSubstr("layers[0].forward_ns"));
  step = parsed(kSimple);
  step.collective.alpha_ns = std::nan("");
  EXPECT_THAT(validation_of(step), HasSubstr("collective.alpha_ns"));
  step = parsed(kSimple);
  step.collective_inside = PartCost{-1, 0, 0};
  EXPECT_THAT(validation_of(step), HasSubstr("collective_inside.alpha_ns"));
  step = parsed(kSimple);
  step.jitter.scale = std::numeric_limits<double>::infinity();
  EXPECT_THAT(validation_of(step), HasSubstr("jitter.scale"));
  step = parsed(with_tasks("{}"));
  step.tasks[0].accesses = {read(DataId{0})};
  EXPECT_THAT(validation_of(step), HasSubstr("tasks[0]"));
  EXPECT_THAT(validation_of(StepDescription{}), HasSubstr("found none"));
}

TEST(StepDescription, HugeAndDeepDocumentsAreRefused) {
  const auto repeated = [](const std::string& piece, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += piece;
    return text + "{}";
  };
  EXPECT_THAT(step_error(document(R"("layers":[)" + repeated("{},", 10'000'000) + "]")),
              HasSubstr(R"(more than 1000000 elements in field "layers")"));
  EXPECT_THAT(step_error(document(R"("layers":[)" + repeated("{},", 100'000) + "]")),
              HasSubstr(R"(field "layers": expected at most 100000 elements, found 100001)"));
  EXPECT_THAT(step_error(document(R"("layers":)" + std::string(1'000'000, '['))),
              HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(step_error(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(step_error(std::string("\xff\xfe", 2)), HasSubstr("not valid JSON"));
}

TEST(StepDescription, WhatIsWrittenIsReadBack) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepDescription step = with_places(RandomStepDescription(seed).make(), seed);
    ASSERT_EQ(validation_of(step), "no error");
    const auto read_back = parse_step_description(to_json(step).dump());
    ASSERT_TRUE(read_back) << read_back.error().message;
    ASSERT_EQ(*read_back, step) << to_json(step).dump(1) << to_json(*read_back).dump(1);
  }
}

TEST(StepDescription, DamagedTextIsRefusedOrGivesAValidDescription) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text = mutate(
        to_json(with_places(RandomStepDescription(seed % 50).make(), seed % 50)).dump(), random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text);
    const auto step = parse_step_description(text);
    refused += !step;
    if (!step) {
      ASSERT_EQ(step.error().code, ErrorCode::invalid_argument);
      continue;
    }
    ASSERT_TRUE(validate(*step));
    ASSERT_TRUE(validate(expand(*step)));
    const auto again = parse_step_description(to_json(*step).dump());
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(*again, *step);
  }
  EXPECT_GT(refused, 1000);
}

TEST(StepDescription, ExpandingChainsComputationAndCommunicatesEachLayerOnItsOwn) {
  StepDescription simple = parsed(kSimple);
  simple.layers[0].parameter_bytes = 0;
  const StepDescription step = expand(simple);
  ASSERT_TRUE(validate(step)) << validation_of(step);
  EXPECT_TRUE(step.layers.empty());
  std::vector<std::string> tasks;
  for (const StepTask& task : step.tasks) tasks.push_back(task.name);
  EXPECT_THAT(tasks, ElementsAre("forward 0 conv", "forward 1 fc6", "backward 1 fc6",
                                 "all_reduce 1 fc6", "backward 0 conv"));
  EXPECT_THAT(accesses_of(step, step.tasks[1]),
              ElementsAre("reads parameters 1 fc6", "updates activations"));
  EXPECT_THAT(accesses_of(step, step.tasks[2]),
              ElementsAre("writes parameters 1 fc6", "updates activations"));
  EXPECT_THAT(accesses_of(step, step.tasks[3]), ElementsAre("updates parameters 1 fc6"));
  EXPECT_EQ(step.tasks[3].collective, CollectiveKind::all_reduce);
  EXPECT_EQ(step.tasks[3].bytes, 411'060'000);
  EXPECT_EQ(step.tasks[3].priority, 1u);
  EXPECT_EQ(step.tasks[2].duration_ns, 4'600'000);
  for (const StepTask& task : step.tasks)
    EXPECT_TRUE(task.name.ends_with(" " + task.place.region)) << task.name;
  EXPECT_EQ(expand(step), step);
  EXPECT_TRUE(step.data_places.empty());
  EXPECT_EQ(parsed(to_json(step).dump()).tasks.size(), step.tasks.size());
}

}  // namespace
}  // namespace hocket
