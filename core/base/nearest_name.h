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

/// Returns whether `nearest` may be what `name` was meant to be.
inline bool is_near(std::string_view name, std::string_view nearest) {
  return edit_distance(name.substr(0, 2 * nearest.size() + 1), nearest) <= 1 + nearest.size() / 3;
}

/// Returns "; did you mean \"…\"", or "" when even the nearest name is too different.
template <class Names>
std::string did_you_mean(std::string_view name, const Names& names) {
  const std::string_view nearest = nearest_name(name, names);
  if (nearest.empty() || !is_near(name, nearest)) return {};
  return "; did you mean \"" + std::string(nearest) + "\"";
}

/// Returns `text` with ASCII letters in lower case.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// A name that may be given, and a few words on what it is for.
struct KnownName {
  std::string_view name, meaning;
};

/// Returns the names of those of `known` whose meaning contains `word`, in any case, joined by
/// " and ". Words of less than three characters are in no meaning.
inline std::string names_by_meaning(std::string_view word, std::span<const KnownName> known) {
  constexpr std::size_t kLeastCharacters = 3;
  std::string names;
  if (word.size() < kLeastCharacters) return names;
  for (const KnownName& each : known) {
    if (lower_case(each.meaning).find(lower_case(word)) == std::string::npos) continue;
    names += (names.empty() ? "" : " and ") + std::string(each.name);
  }
  return names;
}

/// Returns "the nearest is NAME; there are NAME (MEANING), NAME (MEANING), …": what an unknown name
/// is answered with. Case does not count. `elsewhere` has names that others give to these things
/// and which are not listed: "the nearest is OTHER (MEANING); there are …". Where no name is near,
/// those whose meaning contains `name` are: "the nearest are NAME and NAME; …". Requires at least
/// one name.
inline std::string nearest_and_all(std::string_view name, std::span<const KnownName> known,
                                   std::span<const KnownName> elsewhere = {}) {
  std::vector<std::string> names;
  std::string all;
  for (const KnownName& each : known) {
    names.push_back(lower_case(each.name));
    all +=
        (all.empty() ? "" : ", ") + std::string(each.name) + " (" + std::string(each.meaning) + ")";
  }
  for (const KnownName& each : elsewhere) names.push_back(lower_case(each.name));
  const std::string looked_for = lower_case(name);
  const std::string_view nearest = nearest_name(looked_for, names);
  const auto index = static_cast<std::size_t>(std::ranges::find(names, nearest) - names.begin());
  std::string answer = "the nearest is ";
  if (const auto meant = names_by_meaning(name, known);
      !meant.empty() && !is_near(looked_for, nearest)) {
    answer = (meant.find(" and ") == std::string::npos ? answer : "the nearest are ") + meant;
  } else if (index < known.size()) {
    answer += known[index].name;
  } else {
    const KnownName& other = elsewhere[index - known.size()];
    answer += std::string(other.name) + " (" + std::string(other.meaning) + ")";
  }
  return answer + "; there are " + all;
}

}  // namespace hocket
