#pragma once

// What a step submits: its tasks and what they touch, without times. A profile keeps it beside its
// traces, and both together are a step description (profiler/calibration/calibration.h).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/collective_kind.h"
#include "core/step/task.h"
#include "core/trace/rank_trace.h"

namespace hocket {

struct StructureTask {
  std::string name;
  std::optional<CollectiveKind> collective;
  std::int64_t bytes = 0;  ///< of a collective
  std::uint32_t priority = 0;
  /// Data are numbered from 0 in the order in which the step names them.
  std::vector<Access> accesses;

  bool operator==(const StructureTask&) const;
};

/// In the order of submission; TraceRecord::task indexes it.
struct StepStructure {
  std::vector<StructureTask> tasks;

  bool operator==(const StepStructure&) const = default;
};

/// Numbers the data as StructureTask::accesses says.
void number_data(StepStructure& structure);

/// docs/formats/profile.md.
nlohmann::json to_json(const StepStructure& structure);
/// invalid_argument names the field.
Result<StepStructure> step_structure_from_json(const nlohmann::json& document);

/// For a trace that came without: the step's records in the order in which they begin, each compute
/// lane a chain; a collective depends on the last compute record that had ended when it began, and
/// the first compute record that begins after its end depends on it. Sets TraceRecord::task.
/// invalid_argument when the steps of the trace differ too much to be one step repeated.
Result<StepStructure> infer_structure(RankTrace& trace);

}  // namespace hocket
