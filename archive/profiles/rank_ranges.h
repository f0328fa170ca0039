#pragma once

// Ranks as text for notes. Pure.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

/// Returns ranks in order, neighbours as ranges: "rank 1", "ranks 1, 3 to 5".
inline std::string ranks_text(std::vector<std::int64_t> ranks) {
  std::ranges::sort(ranks);
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (ranks[last] != ranks[i]) text += " to " + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace hocket
