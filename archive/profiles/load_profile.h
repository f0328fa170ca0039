#pragma once

// Loads a stored profile with its trace files. Missing or damaged files become notes, so that the
// rest is usable. Not thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/profiles/transfer/trace_transfer.h"
#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/clocks/clock_fit.h"
#include "store/rows.h"
#include "store/trace_file.h"

namespace hocket {

/// Options of a load; by default everything is loaded.
struct LoadOptions {
  std::optional<std::int64_t> rank = {};
  /// Loads only this step's iteration: the records in the lowest rank's window, and those of the
  /// other ranks in the same time.
  std::optional<std::int64_t> step = {};
  /// Fetches the traces that daemons serve; null: an HttpTraceTransfer with the credentials in this
  /// process's environment.
  TraceSource* source = nullptr;
};

struct LoadedProfile {
  ProfileRow row;
  std::vector<RankTrace> traces;  ///< by rank, including traces without records; at least one
  std::vector<ClockFit> fits;     ///< in the order of traces
  /// With LoadOptions::step: the iteration's window on each rank's clock, in the order of traces.
  std::vector<TraceWindow> windows = {};
  std::optional<StepStructure> structure = {};
  /// Messages for people: traces that are missing, cut off or damaged.
  std::vector<std::string> notes = {};
};

/// Loads a profile. Returns not_found if no trace can be read, or the rank or the iteration is not
/// in the profile; the message lists the available ones.
Result<LoadedProfile> load_profile(const ProfileRow& row, const LoadOptions& options = {});

/// Returns `{"profile":…,"notes":[…],"ranks":[{"rank":…,"host":…,"clock_fit":{…},"window":{…},
/// "records":[…]},…]}`; a record has its name as text.
nlohmann::json to_json(const LoadedProfile& profile);

/// Returns the notes in the row's detail, written when the profile was made.
std::vector<std::string> notes_of(const ProfileRow& row);

/// Returns the step whose iteration is closest to the lowest rank's median; of several, the
/// earliest.
std::optional<std::int64_t> typical_step(std::span<const ProfileIteration> iterations);

}  // namespace hocket
