#pragma once

// A stored profile with what its trace files hold. What is missing or damaged becomes a note, so
// that the rest can be used. Not thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/clocks/clock_fit.h"
#include "store/rows.h"
#include "store/trace_file.h"

namespace hocket {

/// What to load; all of it unless something is set.
struct LoadOptions {
  std::optional<std::int64_t> rank = {};
  /// The records of this step's iteration alone: of the lowest rank's window, and what ran on the
  /// others at that time.
  std::optional<std::int64_t> step = {};
};

struct LoadedProfile {
  ProfileRow row;
  std::vector<RankTrace> traces;  ///< by rank, with a record or without; at least one
  std::vector<ClockFit> fits;     ///< in the same order
  /// With LoadOptions::step: where the iteration lies on each rank's clock, in the same order.
  std::vector<TraceWindow> windows = {};
  std::optional<StepStructure> structure = {};
  /// For people: whose trace is missing, cut off or damaged.
  std::vector<std::string> notes = {};
};

/// not_found when no trace can be read, or the rank or the iteration is not in the profile; the
/// message says what there is.
Result<LoadedProfile> load_profile(const ProfileRow& row, const LoadOptions& options = {});

/// `{"profile":…,"notes":[…],"ranks":[{"rank":…,"host":…,"clock_fit":{…},"window":{…},
/// "records":[…]},…]}`; a record has its name as text.
nlohmann::json to_json(const LoadedProfile& profile);

/// The notes in the row's detail: what was said when it was made.
std::vector<std::string> notes_of(const ProfileRow& row);

/// The step whose iteration is nearest to the median of the lowest rank's, the earliest of several.
std::optional<std::int64_t> typical_step(std::span<const ProfileIteration> iterations);

}  // namespace hocket
