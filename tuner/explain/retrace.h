#pragma once

// Replays a search over the trials that it asked for. A search depends on nothing else, so the
// replay yields the reason for each trial again. Thread-safe for different searches.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/explain/explanation.h"
#include "tuner/search/search.h"

namespace hocket {

/// Reason for each trial, one line each, and the recommendation after the last one.
struct Retraced {
  std::vector<std::string> reasons;
  std::optional<Recommendation> recommendation;
};

/// Replays `trials` on a new `search`, made with the options of the original one, as a study of
/// `budget` trials does (tuner/study/study.h). An error names the trial that the search refuses.
Result<Retraced> retrace(Search& search, std::span<const SearchTrial> trials, std::size_t budget);

}  // namespace hocket
