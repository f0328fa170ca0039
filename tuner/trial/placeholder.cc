#include "tuner/trial/placeholder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/nearest_name.h"
#include "tuner/space/job_value.h"

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

struct PlaceIn {
  std::size_t begin = 0, end = 0;  ///< from "{" to behind "}"
  std::string_view name;
  bool is_switch = false;                        ///< "{NAME?…}"
  std::string_view if_true = {}, if_false = {};  ///< of a switch
};

/// Calls `take` with each placeholder of `text`, from the left.
template <class Take>
void for_each_placeholder(std::string_view text, Take take) {
  for (auto open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) return;
    const auto inside = text.substr(open + 1, close - open - 1);
    const auto mark = inside.find('?');
    PlaceIn place{open, close + 1, inside.substr(0, mark)};
    if (!is_name(place.name) || (open > 0 && text[open - 1] == '$')) continue;
    if (mark != std::string_view::npos) {
      const auto texts = inside.substr(mark + 1);
      const auto colon = texts.find(':');
      place.is_switch = true;
      place.if_true = texts.substr(0, colon);
      if (colon != std::string_view::npos) place.if_false = texts.substr(colon + 1);
    }
    take(place);
  }
}

bool is_option_word(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word != "--" &&
         word.find_first_of("={} \t\n") == std::string_view::npos;
}

/// Returns whether the value of the option is an assignment to a variable.
bool takes_assignment(std::string_view option) {
  constexpr std::array<std::string_view, 5> kOptions = {"-x", "-e", "-E", "--env", "--setenv"};
  return std::ranges::count(kOptions, option) > 0;
}

/// Returns what a word has in front of the placeholder with which it ends; nothing if it is not of
/// that form, or has more than one.
std::optional<std::string_view> front_of_value(std::string_view word) {
  std::optional<std::string_view> front;
  int count = 0;
  for_each_placeholder(word, [&](const PlaceIn& place) {
    ++count;
    if (place.end == word.size()) front = word.substr(0, place.begin);
  });
  if (count != 1 || !front) return std::nullopt;
  return front;
}

/// Leaves out what belongs to the value of the placeholder in words[at]; returns false where
/// that cannot be told.
bool leave_out(const std::vector<std::string>& words, std::size_t at, FilledWords& filled) {
  const auto front = front_of_value(words[at]);
  if (!front) return false;
  const std::string_view before = at > 0 ? std::string_view(words[at - 1]) : "";
  if (front->empty()) {
    if (is_option_word(before)) {
      filled.words.pop_back();
      return true;
    }
    return at + 1 == words.size();
  }
  const auto equals = front->find('=');
  const bool is_whole = equals == std::string_view::npos || equals + 1 == front->size();
  if (!is_whole || front->find_first_of(", \t\n\"'") != std::string_view::npos) return false;
  if (front->front() == '-') return true;
  const auto variable = front->substr(0, equals);
  if (equals == std::string_view::npos || !is_name(variable)) return false;
  filled.absent.emplace_back(variable);
  if (takes_assignment(before)) filled.words.pop_back();
  return true;
}

}  // namespace

std::string filled_text(std::string_view text, const PlaceholderValues& values) {
  std::string result;
  std::size_t done = 0;
  for_each_placeholder(text, [&](const PlaceIn& place) {
    const auto value = values.find(std::string(place.name));
    if (value == values.end()) return;
    result += text.substr(done, place.begin - done);
    done = place.end;
    if (!place.is_switch) {
      result += value->second.value_or(std::string(kUnset));
      return;
    }
    const bool is_true = value->second && !is_false_text(*value->second);
    result += is_true ? place.if_true : place.if_false;
  });
  result += text.substr(done);
  return result;
}

Result<FilledWords> filled_words(const std::vector<std::string>& words,
                                 const PlaceholderValues& values) {
  FilledWords filled;
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string unset;
    std::size_t switched = 0;
    for_each_placeholder(words[at], [&](const PlaceIn& place) {
      const auto value = values.find(std::string(place.name));
      if (value == values.end()) return;
      if (place.is_switch) {
        switched += place.end - place.begin;
      } else if (!value->second) {
        unset = place.name;
      }
    });
    if (!unset.empty()) {
      if (leave_out(words, at, filled)) continue;
      return invalid("{" + unset + "} may be left out, and what of \"" + words[at] +
                     "\" belongs to it cannot be told: write it as the value of an option, "
                     "--option={" +
                     unset + "}, or let a shell read the environment variable: ${" + unset +
                     ":+--option \"$" + unset + "\"}");
    }
    std::string text = filled_text(words[at], values);
    const bool is_switch = switched > 0 && switched == words[at].size();
    if (!is_switch || !text.empty()) filled.words.push_back(std::move(text));
  }
  return filled;
}

std::vector<std::string> placeholders_of(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    for_each_placeholder(word, [&](const PlaceIn& place) {
      if (std::ranges::count(names, place.name) == 0) names.emplace_back(place.name);
    });
  }
  return names;
}

std::vector<std::string> plain_placeholders_of(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    for_each_placeholder(word, [&](const PlaceIn& place) {
      if (!place.is_switch && std::ranges::count(names, place.name) == 0)
        names.emplace_back(place.name);
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
