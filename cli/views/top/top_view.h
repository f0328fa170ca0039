#pragma once

// Formats `hocket top` as lines of text. A pure function; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/views/top/top_data.h"

namespace hocket {

/// Content to draw: the latest data, and the state of the connection to the daemon.
struct TopShown {
  std::string daemon;                 ///< address of the daemon
  std::int64_t at_unix_ns = 0;        ///< current time
  TopData data = {};                  ///< data of the last response
  std::string trouble = {};           ///< error that prevents a newer response; empty: none
  std::int64_t trouble_since_ns = 0;  ///< time since it began
};

struct TopSize {
  std::size_t width = 80;
  std::size_t height = 0;  ///< 0: unlimited
};

/// Returns at most `height` lines of at most `width` columns. There is one line per job, connected
/// jobs first, and one more for its note. If not all jobs fit, shows as many as fit and the number
/// of the others. Columns that do not fit are dropped, the least informative first.
std::vector<std::string> top_lines(const TopShown& shown, const TopSize& size);

}  // namespace hocket
