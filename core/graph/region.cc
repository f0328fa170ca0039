#include "core/graph/region.h"

#include <algorithm>
#include <charconv>

#include "core/graph/graph.h"

namespace hocket {
namespace {

/// Returns the part of a path before its first ".".
std::string_view first_name(std::string_view path) {
  return path.substr(0, path.find('.'));
}

std::string_view after_name(std::string_view path, std::size_t name_size) {
  return path.substr(std::min(name_size + 1, path.size()));
}

/// Compares a name with a pattern of letters and "*", going back to the last "*" where they differ.
bool matches_name(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, in_name = 0, star = std::string_view::npos, star_name = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_name = in_name;
    } else if (at < pattern.size() && pattern[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++star_name;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

std::string_view model_region(std::string_view region) {
  return region.substr(0, region.find('/'));
}

std::string part_of_model(std::string_view region) {
  const std::string_view whole = model_region(region);
  const std::size_t first = whole.find('.');
  if (first == std::string_view::npos) return std::string(whole);
  return std::string(whole.substr(0, whole.find('.', first + 1)));
}

bool has_mark(std::string_view region, std::string_view mark) {
  for (std::size_t at = region.find(mark); at != std::string_view::npos;
       at = region.find(mark, at + 1)) {
    const std::size_t end = at + mark.size();
    if (end == region.size() || region[end] == '/') return true;
  }
  return false;
}

std::optional<std::int64_t> micro_batch_of(std::string_view region) {
  const std::size_t at = region.rfind(kMicroBatch);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = region.substr(at + kMicroBatch.size());
  std::int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = read.ptr == digits.data() + digits.size() || *read.ptr == '/';
  if (read.ec != std::errc() || !is_whole || number < 0) return std::nullopt;
  return number;
}

Result<void> check_region_pattern(std::string_view pattern) {
  std::string plain(pattern);
  std::ranges::replace(plain, '*', 'x');
  if (plain.find('/') != std::string::npos) {
    return failure(ErrorCode::invalid_argument,
                   "expected a region of the model, without \"/\" and what follows it");
  }
  return check_graph_name(plain);
}

std::optional<std::string_view> matched_region(std::string_view pattern, std::string_view region) {
  const std::string_view whole = model_region(region);
  std::string_view rest = whole;
  while (!pattern.empty()) {
    const std::string_view wanted = first_name(pattern), name = first_name(rest);
    if (rest.empty() || !matches_name(wanted, name)) return std::nullopt;
    pattern = after_name(pattern, wanted.size());
    rest = after_name(rest, name.size());
  }
  const std::size_t size = rest.empty() ? whole.size() : whole.size() - rest.size() - 1;
  return whole.substr(0, size);
}

}  // namespace hocket
