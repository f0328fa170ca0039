#include "tuner/space/job_value.h"

#include <algorithm>
#include <array>

#include "core/base/nearest_name.h"

namespace hocket {
namespace {

/// Returns whether the text is "unset" behind any number of backslashes.
bool is_unset_or_quoted(std::string_view text) {
  const auto begin = text.find_first_not_of('\\');
  return begin != std::string_view::npos && text.substr(begin) == kUnset;
}

}  // namespace

bool is_unset(const ParameterValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && *text == kUnset;
}

std::optional<std::string> job_text(const ParameterValue& value) {
  if (is_unset(value)) return std::nullopt;
  std::string text = to_text(value);
  if (std::holds_alternative<std::string>(value) && is_unset_or_quoted(text)) text.erase(0, 1);
  return text;
}

std::string choice_of(const std::string& text) {
  return is_unset_or_quoted(text) ? "\\" + text : text;
}

bool may_be_unset(const Domain& domain) {
  const auto* choices = std::get_if<Choices>(&domain);
  return choices != nullptr && std::ranges::count(choices->names, kUnset) > 0;
}

bool is_false_text(std::string_view text) {
  constexpr std::array<std::string_view, 4> kFalse = {"0", "false", "no", "off"};
  return std::ranges::count(kFalse, lower_case(text)) > 0;
}

bool is_boolean(const Domain& domain) {
  const auto* levels = std::get_if<Levels>(&domain);
  return levels != nullptr &&
         levels->values == std::vector<ParameterValue>{std::int64_t{0}, std::int64_t{1}};
}

std::string word_for_false(const Domain& domain) {
  const auto* choices = std::get_if<Choices>(&domain);
  if (choices == nullptr) return {};
  const auto word = std::ranges::find_if(choices->names, is_false_text);
  return word == choices->names.end() ? std::string() : *word;
}

}  // namespace hocket
