#pragma once

// Reads the ranks of a group as files spell them. Pure.

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket {

/// Returns the ranks in "[0, 1, 2]"; empty if the list is cut ("[0, 1, ..., 7]"), or is none.
inline std::vector<std::int64_t> ranks_in(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> ranks;
  while (!text.empty()) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    std::int64_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc() || rank < 0) return {};
    ranks.push_back(rank);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty()) break;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
  return ranks;
}

}  // namespace hocket
