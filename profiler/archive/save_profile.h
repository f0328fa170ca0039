#pragma once

// From what the ranks of a job have recorded to a profile in the store: trace files, clocks that
// are fitted to one another, metrics, and the catalogue's rows. Any thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/session/profile_session.h"
#include "store/profile_folder.h"
#include "store/store.h"

namespace hocket {

/// A rank's trace, and where its file is.
struct RankToSave {
  RankTrace trace;
  /// Absolute. Empty: the trace is written to the profile's folder.
  std::string trace_path = {};
  /// What exchange_clocks() gave for it, if anything.
  std::vector<ClockRound> rounds = {};
};

/// A rank without a trace, and why there is none.
struct MissingRank {
  std::int64_t rank = 0;
  std::string reason;
};

struct ProfileToSave {
  ProfileFolder folder;           ///< of create_profile_folder()
  std::vector<RankToSave> ranks;  ///< of distinct ranks
  std::vector<MissingRank> missing = {};
  StepStructure structure = {};  ///< without tasks: unknown
  nlohmann::json config = nlohmann::json::object();
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  std::optional<ProfileOverhead> overhead = {};
  /// Else to be known of it, for people; what save_profile() has to say is added.
  std::vector<std::string> notes = {};
};

/// Writes what `profile` is made of. A trace that cannot be written is a rank with an empty path,
/// and a figure that cannot be computed is left out; the profile's detail says why. When the rows
/// cannot be added, the error: the trace files that were written here are removed again, and the
/// folder if it is empty then.
Result<ProfileRow> save_profile(Store& store, const std::string& store_path, ProfileToSave profile);

}  // namespace hocket
