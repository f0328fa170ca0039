#include "tuner/space/constraint_tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

/// Signs of other languages, and how a constraint says them.
constexpr std::pair<std::string_view, std::string_view> kForeignSigns[] = {
    {"=>", "at least is written >=, and a condition follows `if`"},
    {"=", "equality is written =="},
    {"&", "write `and`"},
    {"|", "write `or`"},
    {"!", "write `not`"}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// Returns the token at the start of `rest` that cannot be read: up to a blank or bracket.
ConstraintToken unknown_token(std::string_view rest, std::string problem) {
  const std::size_t end =
      std::max<std::size_t>(1, std::min(rest.find_first_of(" \t()"), rest.size()));
  return {ConstraintTokenKind::unknown, rest.substr(0, end), 0, std::move(problem)};
}

ConstraintToken read_number_token(std::string_view rest) {
  double number = 0;
  const char* const last = rest.data() + rest.size();
  auto [end, error] = std::from_chars(rest.data(), last, number);
  if (error != std::errc{} || !std::isfinite(number)) {
    return unknown_token(rest, "expected a number within the range of doubles");
  }
  const char* const unit_end = std::find_if_not(end, last, is_name_start);
  const auto factor = size_factor({end, unit_end});
  if (!factor || (unit_end != last && (is_digit(*unit_end) || *unit_end == '.'))) {
    return unknown_token(rest, std::string("expected a number, with ") + kSizeUnitsText);
  }
  number *= static_cast<double>(*factor);
  end = unit_end;
  return ConstraintToken{ConstraintTokenKind::number,
                         rest.substr(0, static_cast<std::size_t>(end - rest.data())), number};
}

/// Returns the length of the name at the start of `rest`; a dot joins the parts of the name of a
/// region's knob.
std::size_t name_length(std::string_view rest) {
  std::size_t length = 0;
  while (length < rest.size()) {
    const char c = rest[length];
    const bool joins = c == '.' && length + 1 < rest.size() && is_name_start(rest[length + 1]);
    if (!is_name_start(c) && !is_digit(c) && !joins) break;
    ++length;
  }
  return length;
}

/// Reads the token at the start of `rest`, which must not be empty or start with a space.
ConstraintToken read_token(std::string_view rest) {
  const char first = rest.front();
  if (is_digit(first) || first == '.') return read_number_token(rest);
  if (is_name_start(first)) return {ConstraintTokenKind::name, rest.substr(0, name_length(rest))};
  if (first == '"' || first == '\'') {
    const auto end = rest.find(first, 1);
    if (end == std::string_view::npos) return unknown_token(rest, "a quote is not closed");
    return {ConstraintTokenKind::quoted, rest.substr(1, end - 1)};
  }
  for (const auto comparison : kConstraintComparisons) {
    if (rest.starts_with(comparison)) return {ConstraintTokenKind::comparison, comparison};
  }
  if (std::string_view("+-*/()").find(first) != std::string_view::npos) {
    return {ConstraintTokenKind::sign, rest.substr(0, 1)};
  }
  std::string problem = "cannot be read";
  for (const auto& [sign, advice] : kForeignSigns) {
    if (!rest.starts_with(sign)) continue;
    problem += ": " + std::string(advice);
    break;
  }
  return unknown_token(rest, std::move(problem));
}

}  // namespace

std::vector<ConstraintToken> read_constraint_tokens(std::string_view text) {
  std::vector<ConstraintToken> tokens;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    tokens.push_back(read_token(text));
    tokens.back().rest = text;
    text.remove_prefix(tokens.back().text.size() +
                       (tokens.back().kind == ConstraintTokenKind::quoted ? 2 : 0));
  }
  tokens.push_back({ConstraintTokenKind::end, {}});
  return tokens;
}

}  // namespace hocket
