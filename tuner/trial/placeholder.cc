#include "tuner/trial/placeholder.h"

#include <algorithm>

#include "core/base/nearest_name.h"

namespace hocket {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_name_character) &&
         !(text.front() >= '0' && text.front() <= '9');
}

/// Calls `take` with each placeholder's name and place, from the left.
template <class Take>
void for_each_placeholder(std::string_view text, Take take) {
  for (auto open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) return;
    const auto name = text.substr(open + 1, close - open - 1);
    if (is_name(name) && (open == 0 || text[open - 1] != '$')) take(name, open);
  }
}

}  // namespace

std::string filled_text(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string result;
  std::size_t done = 0;
  for_each_placeholder(text, [&](std::string_view name, std::size_t open) {
    const auto value = values.find(std::string(name));
    if (value == values.end()) return;
    result += text.substr(done, open - done);
    result += value->second;
    done = open + name.size() + 2;
  });
  result += text.substr(done);
  return result;
}

std::vector<std::string> placeholders_of(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    for_each_placeholder(word, [&](std::string_view name, std::size_t) {
      if (std::ranges::count(names, name) == 0) names.emplace_back(name);
    });
  }
  return names;
}

Result<void> check_placeholders(const std::vector<std::string>& words,
                                const std::vector<std::string>& known) {
  for (const std::string& name : placeholders_of(words)) {
    if (std::ranges::count(known, name) > 0) continue;
    if (const auto hint = did_you_mean(name, known); !hint.empty())
      return invalid("{" + name + "} is no parameter" + hint);
  }
  return {};
}

}  // namespace hocket
