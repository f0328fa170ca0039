#pragma once

// Orders files by their names, and numbers those of ranks that do not say whose they are. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Orders names as people do: numbers in them by their values.
bool is_name_before(std::string_view a, std::string_view b);

/// Returns the rank that the name of the file at `path` says by a number behind "rank" ("rank-3",
/// "rank03", "r3").
std::optional<std::int64_t> rank_in_name(std::string_view path);

struct NumberedPaths {
  std::vector<std::int64_t> ranks;  ///< of each path; none twice
  bool are_said = false;            ///< the names have these numbers
};

/// Returns a rank for each path, of which several may be equal: a file with several ranks. A name
/// says its rank as rank_in_name() has it, or by the only number in which the names differ, if
/// these are 0, 1, … up to one less than the number of paths. If not all
/// say one, or two say the same, they are numbered from 0 in the order of their names. So the order
/// of the paths, which a shell may have made, does not matter.
NumberedPaths ranks_of_paths(const std::vector<std::string>& paths);

}  // namespace hocket
