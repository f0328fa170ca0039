#pragma once

// Formats `hocket top --ranks` as lines of text: what each lane of the ranks on this machine runs.
// A pure function; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/views/top/top_view.h"
#include "core/host/shown_ranks.h"

namespace hocket {

struct RanksShown {
  std::int64_t at_unix_ns = 0;    ///< current time
  std::int64_t at_coarse_ns = 0;  ///< the same by the clock of the lanes (coarse_monotonic_ns())
  ShownRanks found = {};
};

/// Returns at most `height` lines of at most `width` columns. There is one line per lane that has
/// work, and one for a rank without such lanes. If not all ranks fit, shows as many as fit and the
/// number of the others. Texts of ranks are shown as plain lines.
std::vector<std::string> rank_lines(const RanksShown& shown, const TopSize& size);

}  // namespace hocket
