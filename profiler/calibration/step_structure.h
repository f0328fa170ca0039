#pragma once

// The structure of a step: its tasks and their accesses, without times. A profile stores it beside
// its traces; together they yield a step description (profiler/calibration/calibration.h). Pure.
//
// For a step that was placed on a device of limited memory and its host it has the tasks as they
// were placed, with the copies, and the step that they were placed from.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/collective_kind.h"
#include "core/step/task.h"
#include "core/trace/rank_trace.h"

namespace hocket {

struct StructureTask {
  std::string name;
  std::optional<CollectiveKind> collective = {};
  std::int64_t bytes = 0;  ///< collectives only
  std::uint32_t priority = 0;
  /// Data are numbered from 0 in the order in which the step names them.
  std::vector<Access> accesses = {};
  TaskLane lane = TaskLane::stream;  ///< compute tasks only

  bool operator==(const StructureTask&) const;
};

struct StepStructure {
  /// In the order of submission; TraceRecord::task indexes them.
  std::vector<StructureTask> tasks;
  /// The step, without times, whose tasks are those of `tasks` but the copies, in order.
  std::optional<StepDescription> placed_from = {};
  /// Parameter servers of the job, whether the step used them or not.
  std::int64_t servers = 0;

  bool operator==(const StepStructure&) const = default;
};

constexpr bool is_copy(TaskLane lane) {
  return lane == TaskLane::to_device || lane == TaskLane::to_host;
}

/// Returns the indices of the tasks that the job submitted: all but copies.
std::vector<std::size_t> submitted_tasks(const StepStructure& structure);

/// Returns whether the submitted tasks of `structure` can be those of `step`, placed: of the same
/// number, kinds, bytes and priorities.
bool can_be_placed_from(const StepStructure& structure, const StepDescription& step);

/// Renumbers the data as StructureTask::accesses requires.
void number_data(StepStructure& structure);

/// The format of docs/formats/profile.md.
nlohmann::json to_json(const StepStructure& structure);
/// Reads that format; invalid_argument names the field.
Result<StepStructure> step_structure_from_json(const nlohmann::json& document);

/// Infers the structure of a trace that has none: what most of its steps have in common, lane by
/// lane, without the work that only some of them do. Tasks are in the order in which they begin in
/// a typical step, each compute lane a chain. A collective depends on the last compute record that
/// ended before it began, and the first compute record that begins after its end depends on it.
/// Sets TraceRecord::task; records beside the structure have none. `outside`, if not null, becomes
/// their share of the time of the work. Returns invalid_argument if that share is too large in a
/// typical step, and for a trace with messages.
Result<StepStructure> infer_structure(RankTrace& trace, double* outside = nullptr);

}  // namespace hocket
