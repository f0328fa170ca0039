#include "profiler/calibration/step_structure.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/base/json.h"
#include "core/step/step_description.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "hocket-structure";
constexpr int kVersion = 1;
constexpr std::array<std::string_view, 3> kModes{"read", "write", "update"};

const json* find(const json& object, const char* field) {
  const auto found = object.find(field);
  return found == object.end() ? nullptr : &*found;
}

/// Reads one task; error messages name fields by their path.
class TaskReader {
 public:
  TaskReader(const json& task, std::string path, std::uint32_t& data)
      : task_(task), path_(std::move(path)), data_(data) {}

  Result<StructureTask> read() {
    if (!task_.is_object()) return failure(wrong_field(path_, "an object", task_));
    StructureTask task;
    for (auto step : {&TaskReader::read_name, &TaskReader::read_collective,
                      &TaskReader::read_priority, &TaskReader::read_accesses}) {
      if (auto ok = (this->*step)(task); !ok) return failure(ok.error());
    }
    return task;
  }

 private:
  std::string at(const char* field) const { return path_ + "." + field; }

  Result<void> read_name(StructureTask& task) {
    const json* const name = find(task_, "name");
    if (!name) return {};
    if (!name->is_string()) return failure(wrong_field(at("name"), "a string", *name));
    task.name = name->get<std::string>();
    return {};
  }

  Result<void> read_collective(StructureTask& task) {
    const json* const bytes = find(task_, "bytes");
    const json* const kind = find(task_, "collective");
    if (!kind) {
      if (!bytes) return {};
      return failure(wrong_field(at("bytes"), "nothing without \"collective\"", *bytes));
    }
    std::string expected = "one of";
    for (const CollectiveKind known : kCollectiveKinds) {
      if (*kind == to_string(known)) task.collective = known;
      expected += (known == kCollectiveKinds.front() ? " " : ", ") + std::string(to_string(known));
    }
    if (!task.collective) return failure(wrong_field(at("collective"), expected, *kind));
    const auto read =
        integer_of(bytes ? *bytes : json(), at("bytes"), std::int64_t{0}, kMaxStepTaskBytes);
    if (!read) return failure(read.error());
    task.bytes = *read;
    return {};
  }

  Result<void> read_priority(StructureTask& task) {
    const json* const priority = find(task_, "priority");
    if (!priority) return {};
    const auto read = integer_of(*priority, at("priority"), 0, kPriorityLevels - 1);
    if (!read) return failure(read.error());
    task.priority = static_cast<std::uint32_t>(*read);
    return {};
  }

  Result<void> read_accesses(StructureTask& task) {
    const json* const accesses = find(task_, "accesses");
    if (!accesses) return {};
    if (!accesses->is_array()) return failure(wrong_field(at("accesses"), "an array", *accesses));
    for (std::size_t i = 0; i < accesses->size(); ++i) {
      const std::string path = at("accesses") + "[" + std::to_string(i) + "]";
      const auto access = read_access((*accesses)[i], path);
      if (!access) return failure(access.error());
      task.accesses.push_back(*access);
    }
    return {};
  }

  Result<Access> read_access(const json& value, const std::string& path) {
    const char* const kExpected = "[\"read\", \"write\" or \"update\", number of a piece of data]";
    if (!value.is_array() || value.size() != 2) return failure(wrong_field(path, kExpected, value));
    const auto mode = std::find(kModes.begin(), kModes.end(), value[0]);
    if (mode == kModes.end()) return failure(wrong_field(path, kExpected, value));
    // Indices rise in the order in which the step names data.
    const auto index = integer_of(value[1], path + "[1]", 0, data_);
    if (!index) return failure(index.error());
    if (*index == data_) ++data_;
    return Access{{static_cast<std::uint32_t>(*index)},
                  static_cast<AccessMode>(mode - kModes.begin())};
  }

  const json& task_;
  const std::string path_;
  std::uint32_t& data_;  ///< number of data seen so far
};

json to_json(const StructureTask& task) {
  json document = {{"name", task.name}};
  if (task.collective) {
    document["collective"] = to_string(*task.collective);
    document["bytes"] = task.bytes;
  }
  if (task.priority > 0) document["priority"] = task.priority;
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
         priority == other.priority && std::ranges::equal(accesses, other.accesses, same_access);
}

json to_json(const StepStructure& structure) {
  json tasks = json::array();
  for (const StructureTask& task : structure.tasks) tasks.push_back(to_json(task));
  return {{"format", kFormat}, {"version", kVersion}, {"tasks", std::move(tasks)}};
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
  if (!document.is_object()) return failure(wrong_field("structure", "an object", document));
  if (auto ok = check_format(document, kFormat, kVersion); !ok) return failure(ok.error());
  const json* const tasks = find(document, "tasks");
  if (!tasks || !tasks->is_array() || std::ssize(*tasks) > kMaxStepTasks) {
    return failure(wrong_field("tasks",
                               "an array of at most " + std::to_string(kMaxStepTasks) + " tasks",
                               tasks ? *tasks : json()));
  }
  StepStructure structure;
  structure.tasks.reserve(tasks->size());
  std::uint32_t data = 0;
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    auto task = TaskReader((*tasks)[i], "tasks[" + std::to_string(i) + "]", data).read();
    if (!task) return failure(task.error());
    structure.tasks.push_back(std::move(*task));
  }
  return structure;
}

}  // namespace hocket
