#include "profiler/archive/common_structure.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace hocket {
namespace {

/// The identity of a task, independent of when it runs.
using TaskIdentity = std::tuple<std::string, std::optional<CollectiveKind>, std::int64_t>;

/// Maps each task of `other` to the task of `common` that is the same work, in order of occurrence;
/// nothing if their work differs.
std::optional<std::vector<std::int64_t>> matching(const StepStructure& common,
                                                  const StepStructure& other) {
  if (common.tasks.size() != other.tasks.size()) return std::nullopt;
  const auto identity = [](const StructureTask& task) {
    return TaskIdentity{task.name, task.collective, task.bytes};
  };
  // Tasks by identity, the first one last.
  std::map<TaskIdentity, std::vector<std::int64_t>> places;
  for (auto i = std::ssize(common.tasks) - 1; i >= 0; --i) {
    places[identity(common.tasks[static_cast<std::size_t>(i)])].push_back(i);
  }
  std::vector<std::int64_t> matched;
  for (const StructureTask& task : other.tasks) {
    auto& left = places[identity(task)];
    if (left.empty()) return std::nullopt;
    matched.push_back(left.back());
    left.pop_back();
  }
  return matched;
}

void forget_tasks(RankTrace& trace) {
  for (TraceRecord& record : trace.records) record.task = kNoTask;
}

/// Returns the note on a rank whose work differs; the first trace has the lowest rank's work.
std::string other_work_note(const RankTrace& trace, const std::string& why) {
  return "rank " + std::to_string(trace.rank) + " is no part of predictions: " + why;
}

}  // namespace

StepStructure infer_common_structure(std::vector<RankTrace>& traces,
                                     std::vector<std::string>& notes) {
  std::optional<StepStructure> common;
  for (RankTrace& trace : traces) {
    auto structure = infer_structure(trace);
    if (!structure) {
      forget_tasks(trace);
      notes.push_back(other_work_note(trace, structure.error().message));
      continue;
    }
    if (!common) {
      common = std::move(*structure);
      continue;
    }
    const auto matched = matching(*common, *structure);
    if (!matched) {
      forget_tasks(trace);
      notes.push_back(other_work_note(trace, "its steps do other work than the lowest rank's"));
      continue;
    }
    for (TraceRecord& record : trace.records) {
      if (record.task != kNoTask) record.task = matched->at(static_cast<std::size_t>(record.task));
    }
  }
  if (!common) notes.push_back("nothing can be predicted from this profile");
  return common.value_or(StepStructure{});
}

}  // namespace hocket
