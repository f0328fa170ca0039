#include "archive/profiles/traces/trace_order.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace hocket {
namespace {

using Numbers = std::vector<std::optional<std::int64_t>>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view file_name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::optional<std::int64_t> number_at(std::string_view text, std::size_t at) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (error != std::errc() || number < 0 || number >= kMostRanks) return std::nullopt;
  return number;
}

/// Returns all numbers in `name`, and what is between them in `rest`.
std::vector<std::string_view> digits_of(std::string_view name, std::string& rest) {
  std::vector<std::string_view> digits;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end > at) {
      digits.push_back(name.substr(at, end - at));
      rest += '#';
      at = end;
    } else {
      rest += name[at++];
    }
  }
  return digits;
}

/// Returns the only number in which the names differ, or nothing.
Numbers differing_numbers(const std::vector<std::string_view>& names) {
  std::vector<std::vector<std::string_view>> digits;
  std::string first_rest;
  for (const std::string_view name : names) {
    std::string rest;
    digits.push_back(digits_of(name, rest));
    if (digits.size() == 1) first_rest = rest;
    if (rest != first_rest) return {};
  }
  std::optional<std::size_t> differing;
  for (std::size_t place = 0; place < digits.front().size(); ++place) {
    const auto is_other = [&](const auto& of_name) { return of_name[place] != digits[0][place]; };
    if (std::ranges::none_of(digits, is_other)) continue;
    if (differing) return {};
    differing = place;
  }
  if (!differing) return {};
  Numbers numbers;
  for (const auto& of_name : digits) numbers.push_back(number_at(of_name[*differing], 0));
  const auto count = static_cast<std::int64_t>(names.size());
  const auto is_rank = [&](const auto& number) { return number && *number < count; };
  return std::ranges::all_of(numbers, is_rank) ? numbers : Numbers();
}

bool are_distinct(const Numbers& numbers) {
  std::set<std::int64_t> seen;
  return std::ranges::all_of(
      numbers, [&](const auto& number) { return number && seen.insert(*number).second; });
}

}  // namespace

bool is_name_before(std::string_view a, std::string_view b) {
  const auto digits = [&](std::string_view text) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) -
                                    text.begin());
  };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view x = a.substr(0, digits(a)), y = b.substr(0, digits(b));
      const auto value = [](std::string_view text) {
        text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
        return std::pair(text.size(), text);
      };
      if (value(x) != value(y)) return value(x) < value(y);
      a.remove_prefix(x.size());
      b.remove_prefix(y.size());
    } else if (a[0] != b[0]) {
      return a[0] < b[0];
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  const std::string_view name = file_name_of(path);
  std::optional<std::int64_t> found;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_digit(name[at]) || (at > 0 && is_digit(name[at - 1]))) continue;
    std::string_view before = name.substr(0, at);
    if (!before.empty() && std::string_view("-_.= ").find(before.back()) != before.npos)
      before.remove_suffix(1);
    std::string word;
    for (auto c = before.rbegin();
         c != before.rend() && std::isalpha(static_cast<unsigned char>(*c)); ++c)
      word.insert(word.begin(), static_cast<char>(std::tolower(static_cast<unsigned char>(*c))));
    const bool is_letter = word == "r" && before.size() == at;
    if (word.ends_with("rank") || is_letter) found = number_at(name, at);
  }
  return found;
}

NumberedPaths ranks_of_paths(const std::vector<std::string>& paths) {
  std::vector<std::string_view> names;
  Numbers said;
  for (const std::string& path : paths) {
    names.push_back(file_name_of(path));
    said.push_back(rank_in_name(path));
  }
  if (!are_distinct(said)) said = differing_numbers(names);
  NumberedPaths numbered;
  numbered.are_said = !said.empty() && are_distinct(said);
  if (numbered.are_said) {
    for (const auto& number : said) numbered.ranks.push_back(*number);
    return numbered;
  }
  std::vector<std::size_t> order(paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return names[a] != names[b] ? is_name_before(names[a], names[b])
                                : is_name_before(paths[a], paths[b]);
  });
  numbered.ranks.resize(paths.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    numbered.ranks[order[i]] = static_cast<std::int64_t>(i);
  return numbered;
}

}  // namespace hocket
