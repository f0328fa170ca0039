#pragma once

// A search on a recorded sweep in place of a running job: each evaluation draws one of the
// setting's measurements. A pure function of its input.

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
  std::optional<double> value;  ///< nothing when the recorded trial failed
  std::string reason;           ///< for `params`
  /// After this trial; the default before a value is known. It was recorded.
  Params recommended;
  std::string why_recommended;
};

/// At most `trials` evaluations, fewer when each recorded setting was measured or the search ends.
/// `search` is a new one over table.space(). A setting that was not recorded is no trial: the
/// search is told that it fails, so that it learns where nothing was recorded, and the nearest
/// recorded one that was not measured yet is tried in its place.
Result<std::vector<ReplayedTrial>> replay(const RecordedTable& table, Search& search,
                                          std::size_t trials, std::uint64_t seed);

}  // namespace hocket
