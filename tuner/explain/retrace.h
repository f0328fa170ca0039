#pragma once

// A search once more over the trials that it asked for: it depends on nothing else, so it says
// again why it asked for each. Thread-safe for distinct calls.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/study/study_session.h"

namespace hocket {

struct RetracedSearch {
  /// Why each trial that has ended was asked, one line each.
  std::vector<std::string> reasons;
  /// The recommendation after the last trial.
  std::optional<Recommendation> recommendation;
};

/// Takes a new session through `past`, the trials of a study with these options. An error names the
/// trial that the search refuses.
Result<RetracedSearch> retrace_search(SessionOptions options, std::span<const Trial> past);

}  // namespace hocket
