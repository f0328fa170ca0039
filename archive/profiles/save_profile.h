#pragma once

// Saves the recordings of a job's ranks as a profile in the store: trace files, fitted clocks,
// metrics, and the catalogue's rows. Any thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "archive/profiles/transfer/trace_transfer.h"
#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/session/profile_session.h"
#include "store/profile_folder.h"
#include "store/store.h"

namespace hocket {

/// A rank's trace and the path of its file.
struct RankToSave {
  RankTrace trace;
  /// As in ProfileRank; empty: save_profile() writes the trace to the profile's folder, or sends
  /// it.
  std::string trace_path = {};
  /// Result of exchange_clocks() for the rank, if it ran.
  std::vector<ClockRound> rounds = {};
};

/// A rank without a trace, and the reason.
struct MissingRank {
  std::int64_t rank = 0;
  std::string reason;
};

struct ProfileToSave {
  ProfileFolder folder;  ///< from create_profile_folder()
  /// Takes the traces that save_profile() writes; null: the one of trace_target(), if any.
  TraceTarget* target = nullptr;
  std::vector<RankToSave> ranks;  ///< distinct ranks
  std::vector<MissingRank> missing = {};
  StepStructure structure = {};  ///< unknown if it has no tasks
  nlohmann::json config = nlohmann::json::object();
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  std::optional<ProfileOverhead> overhead = {};
  /// Use of the processors by the lowest rank's process and by its host, where known.
  std::optional<HostShares> host = {};
  /// Messages for people; save_profile() adds its own.
  std::vector<std::string> notes = {};
};

/// Writes the profile. A trace that cannot be written becomes a rank with an empty path, one that
/// cannot be sent stays a file, and a metric that cannot be computed is left out; the profile's
/// detail says why. Files that were sent are removed. Returns an error if the rows cannot be added,
/// and removes the trace files written here. A folder without files is removed in either case.
Result<ProfileRow> save_profile(Store& store, const std::string& store_path, ProfileToSave profile);

}  // namespace hocket
