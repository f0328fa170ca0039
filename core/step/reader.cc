#include "core/step/reader.h"

#include <algorithm>
#include <numeric>

namespace hocket::step {
namespace {

/// Levenshtein's distance: characters to insert, remove or change.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

Result<void> Reader::done() const {
  if (error_) return failure(*error_);
  for (const auto& [name, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) return unknown(name);
  }
  return {};
}

Result<void> Reader::unknown(const std::string& name) const {
  const auto nearest =
      std::min_element(known_.begin(), known_.end(), [&](std::string_view a, std::string_view b) {
        return edit_distance(name, a) < edit_distance(name, b);
      });
  const bool is_close = edit_distance(name, *nearest) <= 1 + nearest->size() / 3;
  const std::string quoted = nlohmann::json(name.substr(0, 60))
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return failure(ErrorCode::invalid_argument,
                 "field \"" + path_of(quoted.substr(1, quoted.size() - 2)) +
                     "\" is not known here" +
                     (is_close ? "; did you mean \"" + std::string(*nearest) + "\"" : ""));
}

}  // namespace hocket::step
