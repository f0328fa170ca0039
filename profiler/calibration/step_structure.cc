#include "profiler/calibration/step_structure.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "core/base/json_reader.h"
#include "core/description/step_description.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "hocket-structure";
constexpr int kVersion = 1;
constexpr std::array<std::string_view, 3> kModes{"read", "write", "update"};
constexpr auto kLaneWords = [] {
  std::array<Word<TaskLane>, kTaskLanes> words;
  for (std::size_t i = 0; i < kTaskLanes; ++i)
    words[i] = {to_string(static_cast<TaskLane>(i)), static_cast<TaskLane>(i)};
  return words;
}();

/// Reads the tasks in order; data are numbered from 0 in the order in which the step names them.
class StructureReader {
 public:
  explicit StructureReader(StepStructure& structure) : structure_(structure) {}

  void read(JsonReader& reader) {
    reader.format(kFormat, kVersion);
    const auto read_one = [this](const JsonValue& value) {
      value.object([this](JsonReader& task) { read_task(task, structure_.tasks.emplace_back()); });
    };
    reader.array("tasks", read_one, Presence::required, kMaxStepTasks);
    reader.part("placed_from", structure_.placed_from, read_step_description);
    const auto refuse_other = [&](const JsonValue& step) {
      if (structure_.placed_from && !can_be_placed_from(structure_, *structure_.placed_from))
        step.refuse("a step with the tasks of \"tasks\" that are no copies");
    };
    reader.value("placed_from", refuse_other, kOptional);
    reader.integer("servers", structure_.servers, 0, kMaxStepServers, 0);
  }

 private:
  void read_task(JsonReader& reader, StructureTask& task) {
    reader.text("name", task.name, "");
    const auto read_kind = [&](const JsonValue& kind) {
      task.collective = kCollectiveKinds[kind.word(kCollectiveKindNames)];
    };
    reader.value("collective", read_kind, kOptional);
    if (task.collective) {
      reader.integer("bytes", task.bytes, 0, kMaxStepTaskBytes);
    } else {
      const auto refuse = [](const JsonValue& bytes) {
        bytes.refuse("nothing without \"collective\"");
      };
      reader.value("bytes", refuse, kOptional);
    }
    reader.integer("priority", task.priority, 0, kPriorityLevels - 1, 0);
    if (!task.collective) reader.choice("lane", task.lane, kLaneWords, TaskLane::stream);
    const auto read_one = [&](const JsonValue& access) {
      task.accesses.push_back(read_access(access));
    };
    reader.array("accesses", read_one, kOptional);
  }

  Access read_access(const JsonValue& value) {
    if (!value.json().is_array() || value.json().size() != 2) {
      value.refuse("[\"read\", \"write\" or \"update\", number of a piece of data]");
      return {};
    }
    const auto mode = static_cast<AccessMode>(value.element(0).word(kModes));
    const std::int64_t index = value.element(1).integer(0, data_);
    if (index == data_) ++data_;
    return {{static_cast<std::uint32_t>(index)}, mode};
  }

  StepStructure& structure_;
  /// Pieces of data so far.
  std::int64_t data_ = 0;
};

json to_json(const StructureTask& task) {
  json document = {{"name", task.name}};
  if (task.collective) {
    document["collective"] = to_string(*task.collective);
    document["bytes"] = task.bytes;
  }
  if (task.priority > 0) document["priority"] = task.priority;
  if (task.lane != TaskLane::stream) document["lane"] = to_string(task.lane);
  if (task.accesses.empty()) return document;
  json& accesses = document["accesses"] = json::array();
  for (const Access& access : task.accesses)
    accesses.push_back({kModes[static_cast<std::size_t>(access.mode)], access.data.index});
  return document;
}

}  // namespace

bool StructureTask::operator==(const StructureTask& other) const {
  const auto same_access = [](const Access& a, const Access& b) {
    return a.data == b.data && a.mode == b.mode;
  };
  return name == other.name && collective == other.collective && bytes == other.bytes &&
         priority == other.priority && lane == other.lane &&
         std::ranges::equal(accesses, other.accesses, same_access);
}

std::vector<std::size_t> submitted_tasks(const StepStructure& structure) {
  std::vector<std::size_t> tasks;
  for (std::size_t i = 0; i < structure.tasks.size(); ++i)
    if (!is_copy(structure.tasks[i].lane)) tasks.push_back(i);
  return tasks;
}

bool can_be_placed_from(const StepStructure& structure, const StepDescription& step) {
  const auto is_alike = [&](std::size_t index, const StepTask& submitted) {
    const StructureTask& task = structure.tasks[index];
    return task.collective.has_value() == submitted.collective.has_value() &&
           task.bytes == submitted.bytes && task.priority == submitted.priority;
  };
  return step.device_memory_bytes > 0 &&
         std::ranges::equal(submitted_tasks(structure), step.tasks, is_alike);
}

json to_json(const StepStructure& structure) {
  json tasks = json::array();
  for (const StructureTask& task : structure.tasks) tasks.push_back(to_json(task));
  json document = {{"format", kFormat}, {"version", kVersion}, {"tasks", std::move(tasks)}};
  if (structure.placed_from) document["placed_from"] = hocket::to_json(*structure.placed_from);
  if (structure.servers > 0) document["servers"] = structure.servers;
  return document;
}

void number_data(StepStructure& structure) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (StructureTask& task : structure.tasks) {
    for (Access& access : task.accesses) {
      const auto next = static_cast<std::uint32_t>(numbers.size());
      access.data.index = numbers.try_emplace(access.data.index, next).first->second;
    }
  }
}

Result<StepStructure> step_structure_from_json(const json& document) {
  JsonReader reader(document);
  StepStructure structure;
  StructureReader(structure).read(reader);
  return reader.result(std::move(structure));
}

}  // namespace hocket
