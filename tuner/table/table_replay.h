#pragma once

// Runs a search on a recorded table in place of a running job: each evaluation draws one of the
// setting's measurements. Pure function; thread-safe for different searches.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/search/search.h"
#include "tuner/table/recorded_table.h"

namespace hocket {

struct ReplayedTrial {
  Params params;
  std::optional<double> value;  ///< nothing if the recorded trial failed
  std::string reason;           ///< why `params` was tried
  /// Recommendation after this trial, moved to a recorded setting; the default before a value is
  /// known.
  Params recommended;
  std::string why_recommended;
};

/// Runs up to `trials` evaluations of an objective with this direction, fewer if every recorded
/// setting was measured or the search ends. `search` must be a new one over table.space(). A
/// setting that was not recorded is not a trial: the search is told that it failed, so that it
/// learns where nothing was recorded, and the nearest recorded setting not yet measured is tried
/// instead.
Result<std::vector<ReplayedTrial>> replay_table(const RecordedTable& table, Search& search,
                                                std::size_t trials, std::uint64_t seed,
                                                Direction direction = Direction::minimise);

}  // namespace hocket
