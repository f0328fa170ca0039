#pragma once

// Suggestions for misspelt names. Pure.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Returns the Levenshtein distance.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Returns the entry of `names` nearest to `name`; empty when `names` is empty. Compares at most 2
/// · n + 1 characters of `name`, where n is the length of the longest entry.
template <class Names>
std::string_view nearest_name(std::string_view name, const Names& names) {
  std::string_view nearest;
  std::size_t longest = 0, least = 0;
  for (const std::string_view other : names) longest = std::max(longest, other.size());
  const std::string_view looked_at = name.substr(0, 2 * longest + 1);
  for (const std::string_view other : names) {
    const std::size_t distance = edit_distance(looked_at, other);
    if (nearest.data() != nullptr && distance >= least) continue;
    nearest = other;
    least = distance;
  }
  return nearest;
}

/// Returns "; did you mean \"…\"", or "" when even the nearest name is too different.
template <class Names>
std::string did_you_mean(std::string_view name, const Names& names) {
  const std::string_view nearest = nearest_name(name, names);
  if (nearest.empty() ||
      edit_distance(name.substr(0, 2 * nearest.size() + 1), nearest) > 1 + nearest.size() / 3) {
    return {};
  }
  return "; did you mean \"" + std::string(nearest) + "\"";
}

/// A name that may be given, and a few words on what it is for.
struct KnownName {
  std::string_view name, meaning;
};

/// Returns "the nearest is NAME; there are NAME (MEANING), NAME (MEANING), …": what an unknown name
/// is answered with. Requires at least one name.
inline std::string nearest_and_all(std::string_view name, std::span<const KnownName> known) {
  std::vector<std::string_view> names;
  std::string all;
  for (const KnownName& each : known) {
    names.push_back(each.name);
    all +=
        (all.empty() ? "" : ", ") + std::string(each.name) + " (" + std::string(each.meaning) + ")";
  }
  return "the nearest is " + std::string(nearest_name(name, names)) + "; there are " + all;
}

}  // namespace hocket
