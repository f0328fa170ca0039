#pragma once

// A search once more over the trials that it asked for: it depends on nothing else, so it says
// again why it asked for each. Thread-safe for searches of their own.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/explain/explanation.h"
#include "tuner/search/search.h"

namespace hocket {

/// Why each trial was asked, one line each, and what is recommended after the last one.
struct Retraced {
  std::vector<std::string> reasons;
  std::optional<Recommendation> recommendation;
};

/// Takes a new `search`, with the options that the trials were searched with, through them again,
/// as a study of `budget` trials does (tuner/study/study.h). An error names the trial that the
/// search refuses.
Result<Retraced> retrace(Search& search, std::span<const SearchTrial> trials, std::size_t budget);

}  // namespace hocket
