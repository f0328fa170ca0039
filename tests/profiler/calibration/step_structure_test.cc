#include "profiler/calibration/step_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

StepStructure random_structure(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  StepStructure structure;
  structure.tasks.resize(random() % 20);
  std::uint32_t data = 0;
  for (StructureTask& task : structure.tasks) {
    task.name = random() % 4 ? "task " + std::to_string(random() % 5) : "";
    if (random() % 2) {
      task.collective = kCollectiveKinds[random() % kCollectiveKinds.size()];
      task.bytes = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 42));
    }
    task.priority = static_cast<std::uint32_t>(random() % kPriorityLevels);
    if (!task.collective) task.lane = static_cast<TaskLane>(random() % kTaskLanes);
    for (auto n = random() % 5; n > 0; --n) {
      const auto index = static_cast<std::uint32_t>(random() % (data + 1));
      data = std::max(data, index + 1);
      task.accesses.push_back({{index}, static_cast<AccessMode>(random() % 3)});
    }
  }
  return structure;
}

TEST(StepStructure, ComesBackFromJson) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const StepStructure structure = random_structure(seed);
    const auto back = step_structure_from_json(json::parse(to_json(structure).dump()));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(*back == structure) << to_json(structure).dump();
  }
}

TEST(StepStructure, ItsDataAreNumberedAsTheyAreNamed) {
  StepStructure structure{{{"a", {}, 0, 0, {read({7}), write({3})}},
                           {"b", {}, 0, 0, {update({3}), read({0}), read({7})}}}};
  EXPECT_FALSE(step_structure_from_json(to_json(structure)));
  number_data(structure);
  EXPECT_TRUE(structure == (StepStructure{{{"a", {}, 0, 0, {read({0}), write({1})}},
                                           {"b", {}, 0, 0, {update({1}), read({2}), read({0})}}}}));
}

TEST(StepStructure, HasTheFormOfItsPage) {
  const StepStructure structure{{{"backward", {}, 0, 0, {write({0}), read({1})}},
                                 {"gradient", CollectiveKind::all_reduce, 4096, 3, {update({0})}}}};
  const json document = json::parse(R"({"format": "hocket-structure", "version": 1, "tasks": [
      {"name": "backward", "accesses": [["write", 0], ["read", 1]]},
      {"name": "gradient", "collective": "all_reduce", "bytes": 4096, "priority": 3,
       "accesses": [["update", 0]]}]})");
  EXPECT_EQ(to_json(structure), document);
  EXPECT_TRUE(step_structure_from_json(document).value() == structure);
}

TEST(StepStructure, AFieldThatIsWrongIsNamed) {
  const json good = to_json(StepStructure{
      {{"a", CollectiveKind::all_reduce, 4, 0, {read({0})}}, {"b", {}, 0, 0, {read({0})}}}});
  ASSERT_TRUE(step_structure_from_json(good));
  struct Case {
    const char* at;
    json value;
    const char* named;
  };
  const std::vector<Case> cases = {
      {"/format", "hocket-step", "format"},
      {"/version", 2, "version"},
      {"/tasks", "none", "tasks"},
      {"/tasks/0", 7, "tasks[0]"},
      {"/tasks/0/name", 7, "tasks[0].name"},
      {"/tasks/0/collective", "sum", "tasks[0].collective"},
      {"/tasks/0/bytes", -1, "tasks[0].bytes"},
      {"/tasks/0/bytes", nullptr, "tasks[0].bytes"},
      {"/tasks/1/bytes", 4, "tasks[1].bytes"},
      {"/tasks/1/priority", kPriorityLevels, "tasks[1].priority"},
      {"/tasks/1/accesses", 7, "tasks[1].accesses"},
      {"/tasks/1/accesses/0", "read", "tasks[1].accesses[0]"},
      {"/tasks/1/accesses/0", json::array({"read"}), "tasks[1].accesses[0]"},
      {"/tasks/1/accesses/0", json::array({"look", 0}), "tasks[1].accesses[0]"},
      // Data are numbered in the order of their first access.
      {"/tasks/1/accesses/0", json::array({"read", 2}), "tasks[1].accesses[0][1]"},
      {"/tasks/1/accesses/0", json::array({"read", -1}), "tasks[1].accesses[0][1]"},
  };
  for (const Case& wrong : cases) {
    json document = good;
    document[json::json_pointer(wrong.at)] = wrong.value;
    const auto read = step_structure_from_json(document);
    ASSERT_FALSE(read) << document.dump();
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(read.error().message, HasSubstr(wrong.named));
  }
  EXPECT_FALSE(step_structure_from_json(json::array()));
  EXPECT_FALSE(step_structure_from_json({{"format", "hocket-structure"}, {"version", 1}}));
}

/// A step of one task that updates a layer on the host, between two copies.
StepStructure placed_structure() {
  StepStructure structure{{{.name = "fetch x", .lane = TaskLane::to_device},
                           {.name = "update", .priority = 2, .lane = TaskLane::host},
                           {.name = "evict x", .lane = TaskLane::to_host}}};
  StepDescription& step = structure.placed_from.emplace();
  step.data = {"x"};
  step.data_places = {{.bytes = 512, .layer = 3}};
  step.tasks.push_back(
      {.name = "update", .collective = {}, .priority = 2, .accesses = {update(DataId{0})}});
  step.tasks[0].place.updates_layer = 3;
  step.device_memory_bytes = 4096;
  return structure;
}

TEST(StepStructure, HasTheStepThatItWasPlacedFrom) {
  const StepStructure structure = placed_structure();
  EXPECT_EQ(submitted_tasks(structure), (std::vector<std::size_t>{1}));
  EXPECT_TRUE(can_be_placed_from(structure, *structure.placed_from));
  const json document = to_json(structure);
  EXPECT_EQ(document["tasks"][1]["lane"], "host");
  EXPECT_EQ(document["placed_from"]["device_memory_bytes"], 4096);
  const auto back = step_structure_from_json(json::parse(document.dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(*back == structure) << document.dump();
}

TEST(StepStructure, AStepOfOtherTasksIsNotWhatItWasPlacedFrom) {
  const json good = to_json(placed_structure());
  const std::vector<std::pair<const char*, json>> cases = {
      {"/tasks/1/lane", "to_host"}, {"/tasks/0/lane", "stream"},
      {"/tasks/1/priority", 3},     {"/placed_from/tasks/0/priority", 3},
      {"/placed_from/tasks", "no"}, {"/placed_from/device_memory_bytes", 0}};
  for (const auto& [at, value] : cases) {
    json document = good;
    document[json::json_pointer(at)] = value;
    const auto read = step_structure_from_json(document);
    ASSERT_FALSE(read) << document.dump();
    EXPECT_THAT(read.error().message, HasSubstr("placed_from"));
  }
  json wrong_lane = good;
  wrong_lane["tasks"][0]["lane"] = "road";
  EXPECT_THAT(step_structure_from_json(wrong_lane).error().message, HasSubstr("tasks[0].lane"));
}

}  // namespace
}  // namespace hocket
