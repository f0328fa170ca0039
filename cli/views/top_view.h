#pragma once

// `hocket top` as lines of text. A pure function; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/views/top_data.h"

namespace hocket {

/// What is drawn: the data as it was last known, and how it stands with the daemon.
struct TopShown {
  std::string daemon;                 ///< its address
  std::int64_t at_unix_ns = 0;        ///< now
  TopData data = {};                  ///< as of the last answer
  std::string trouble = {};           ///< why there is no newer answer; "": there is
  std::int64_t trouble_since_ns = 0;  ///< how long ago that began
};

struct TopSize {
  std::size_t width = 80;
  std::size_t height = 0;  ///< 0: as many lines as there are
};

/// At most `height` lines of at most `width` columns. A line a job, those that can be reached
/// first; when they do not all fit, those that do and how many more there are. Columns that do not
/// fit are left out, the least telling first.
std::vector<std::string> top_lines(const TopShown& shown, const TopSize& size);

}  // namespace hocket
