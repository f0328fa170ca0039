#include "archive/profiles/common_structure.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

/// The identity of a task, independent of when it runs.
using TaskIdentity = std::tuple<std::string, std::optional<CollectiveKind>, std::int64_t>;

/// Maps each task of `other` to the task of `common` that is the same work, in order of occurrence,
/// or to kNoTask; nothing if more than a tenth of either has no partner.
std::optional<std::vector<std::int64_t>> matching(const StepStructure& common,
                                                  const StepStructure& other) {
  constexpr std::size_t kLeastTenths = 9;
  const auto identity = [](const StructureTask& task) {
    return TaskIdentity{task.name, task.collective, task.bytes};
  };
  // Tasks by identity, the first one last.
  std::map<TaskIdentity, std::vector<std::int64_t>> places;
  for (auto i = std::ssize(common.tasks) - 1; i >= 0; --i) {
    places[identity(common.tasks[static_cast<std::size_t>(i)])].push_back(i);
  }
  std::vector<std::int64_t> matched;
  std::size_t count = 0;
  for (const StructureTask& task : other.tasks) {
    auto& left = places[identity(task)];
    if (left.empty()) {
      matched.push_back(kNoTask);
      continue;
    }
    matched.push_back(left.back());
    left.pop_back();
    ++count;
  }
  if (10 * count < kLeastTenths * std::max(common.tasks.size(), other.tasks.size())) return {};
  return matched;
}

/// Least share of work beside the structure that a note mentions.
constexpr double kLeastSaid = 0.005;

void forget_tasks(RankTrace& trace) {
  for (TraceRecord& record : trace.records) record.task = kNoTask;
}

/// Returns the closest kept task of the chain of compute task `from`, in the direction `by`; -1 if
/// there is none.
std::int64_t kept_in_chain(const StepStructure& structure, const std::vector<bool>& is_kept,
                           std::int64_t from, std::int64_t by) {
  const auto at = [&](std::int64_t i) -> const StructureTask& {
    return structure.tasks[static_cast<std::size_t>(i)];
  };
  for (std::int64_t i = from + by; i >= 0 && i < std::ssize(structure.tasks); i += by) {
    if (is_kept[static_cast<std::size_t>(i)] && !at(i).collective &&
        at(i).accesses.front().data == at(from).accesses.front().data) {
      return i;
    }
  }
  return -1;
}

/// Removes the tasks that are not kept. What a collective waited for becomes the task before it in
/// its chain, and what waited for the collective the task after it.
StepStructure without_others(StepStructure structure, const std::vector<bool>& is_kept) {
  for (std::int64_t i = 0; i < std::ssize(structure.tasks); ++i) {
    const StructureTask& task = structure.tasks[static_cast<std::size_t>(i)];
    if (is_kept[static_cast<std::size_t>(i)] || task.collective) continue;
    for (std::size_t k = 1; k < task.accesses.size(); ++k) {
      const Access access = task.accesses[k];
      const std::int64_t heir =
          kept_in_chain(structure, is_kept, i, access.mode == AccessMode::write ? -1 : 1);
      if (heir < 0) continue;
      auto& accesses = structure.tasks[static_cast<std::size_t>(heir)].accesses;
      const auto same = [&](const Access& other) { return other.data == access.data; };
      if (std::ranges::none_of(accesses, same)) accesses.push_back(access);
    }
  }
  StepStructure kept;
  for (std::size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i]) kept.tasks.push_back(std::move(structure.tasks[i]));
  }
  number_data(kept);
  return kept;
}

/// Keeps the tasks that all ranks with tasks have, and renumbers those of the records.
StepStructure shared_structure(StepStructure structure, std::vector<RankTrace>& traces) {
  std::vector<bool> is_kept(structure.tasks.size(), true);
  for (const RankTrace& trace : traces) {
    std::vector<bool> has(structure.tasks.size());
    for (const TraceRecord& record : trace.records) {
      if (record.task != kNoTask) has[static_cast<std::size_t>(record.task)] = true;
    }
    if (std::ranges::find(has, true) == has.end()) continue;
    for (std::size_t i = 0; i < has.size(); ++i) is_kept[i] = is_kept[i] && has[i];
  }
  if (std::ranges::find(is_kept, false) == is_kept.end()) return structure;
  std::vector<std::int64_t> numbers(is_kept.size(), kNoTask);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i]) numbers[i] = count++;
  }
  for (RankTrace& trace : traces) {
    for (TraceRecord& record : trace.records) {
      if (record.task != kNoTask) record.task = numbers[static_cast<std::size_t>(record.task)];
    }
  }
  return without_others(std::move(structure), is_kept);
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
    double outside = 0;
    auto structure = infer_structure(trace, &outside);
    if (!structure) {
      forget_tasks(trace);
      notes.push_back(other_work_note(trace, structure.error().message));
      continue;
    }
    if (outside >= kLeastSaid) {
      notes.push_back("rank " + std::to_string(trace.rank) + ": " + percent(outside) +
                      " of the time of its steps' work is beside what most of them have in common, "
                      "and no part of predictions");
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
  return common ? shared_structure(std::move(*common), traces) : StepStructure{};
}

}  // namespace hocket
