#include "tuner/space/parameter_syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "tuner/space/job_value.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

constexpr std::string_view kGrammar =
    "expected NAME=int:LO..HI[:log], NAME=float:LO..HI[:log], NAME=levels:1,2,4, "
    "NAME=choice:A,B,C, NAME=A,B,C or NAME=bool";

std::string quoted(std::string_view text) {
  std::string result = "\"";
  result += text;
  result += '"';
  return result;
}

Result<double> parse_real(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) {
    return invalid("expected a finite number, found " + quoted(text));
  }
  return number;
}

/// Parses "LO..HI[:log]".
template <class Range>
Result<Domain> parse_range(std::string_view text, auto parse_number) {
  Range range;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (text.substr(colon) != ":log") {
      return invalid("expected nothing or :log after the range, found " +
                     quoted(text.substr(colon)));
    }
    range.log = true;
    text = text.substr(0, colon);
  }
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return invalid("expected LO..HI, found " + quoted(text));
  const auto low = parse_number(text.substr(0, dots));
  HOCKET_TRY(low);
  const auto high = parse_number(text.substr(dots + 2));
  HOCKET_TRY(high);
  range.low = *low;
  range.high = *high;
  return range;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Result<Domain> parse_levels(std::string_view text) {
  const auto parts = split_at_commas(text);
  const bool integers = std::all_of(parts.begin(), parts.end(), [](const auto& part) {
    return bool(parse_scaled_integer(part));
  });
  Levels levels;
  for (const auto& part : parts) {
    if (integers) {
      levels.values.emplace_back(*parse_scaled_integer(part));
      continue;
    }
    const auto real = parse_real(part);
    if (!real) {
      return invalid(std::string("levels: expected integers, with ") + kSizeUnitsText +
                     ", or finite numbers, found " + quoted(std::string_view(part)));
    }
    levels.values.emplace_back(*real);
  }
  return levels;
}

Result<Domain> parse_domain(std::string_view text) {
  const auto colon = text.find(':');
  const auto type = text.substr(0, colon);
  const bool known = type == "int" || type == "float" || type == "levels" || type == "choice";
  if (text == "bool") return Levels{{std::int64_t{0}, std::int64_t{1}}};
  if (const auto comma = text.find(','); comma < colon) {
    auto levels = parse_levels(text);
    return levels ? std::move(levels) : Choices{split_at_commas(text)};
  }
  if (colon == std::string_view::npos || !known) {
    return invalid(std::string(kGrammar) + ", found " + quoted(text));
  }
  text.remove_prefix(colon + 1);
  if (type == "int") return parse_range<IntegerRange>(text, parse_scaled_integer);
  if (type == "float") return parse_range<RealRange>(text, parse_real);
  if (type == "levels") return parse_levels(text);
  return Choices{split_at_commas(text)};
}

Result<ParameterValue> parse_value(const Domain& domain, std::string_view text) {
  if (is_boolean(domain)) {
    constexpr std::array<std::string_view, 6> kTrue = {"true", "True", "yes", "on", "TRUE", "1"};
    if (std::ranges::count(kTrue, text) > 0) return std::int64_t{1};
    if (is_false_text(text)) return std::int64_t{0};
  }
  const auto* levels = std::get_if<Levels>(&domain);
  const bool integers = std::holds_alternative<IntegerRange>(domain) ||
                        (levels && std::holds_alternative<std::int64_t>(levels->values.front()));
  if (integers) {
    const auto number = parse_scaled_integer(text);
    HOCKET_TRY(number);
    return *number;
  }
  if (levels || std::holds_alternative<RealRange>(domain)) {
    const auto number = parse_real(text);
    HOCKET_TRY(number);
    return *number;
  }
  return std::string(text);
}

}  // namespace

Result<Parameter> parse_parameter(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return invalid(std::string(kGrammar) + ", found " + quoted(text));
  }
  Parameter parameter;
  parameter.name = text.substr(0, equals);
  auto domain = parse_domain(text.substr(equals + 1));
  if (!domain) return failure(domain.error().in("parameter " + parameter.name));
  parameter.domain = std::move(*domain);
  HOCKET_TRY(validate_domain(parameter));
  parameter.default_value = middle_value(parameter.domain);
  return parameter;
}

Result<void> set_default(std::vector<Parameter>& parameters, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return invalid("default: expected NAME=VALUE, found " + quoted(assignment));
  }
  const auto name = assignment.substr(0, equals);
  const auto it = std::find_if(parameters.begin(), parameters.end(),
                               [&](const Parameter& p) { return p.name == name; });
  if (it == parameters.end()) {
    std::string known;
    for (const auto& p : parameters) known += (known.empty() ? "" : ", ") + p.name;
    return invalid("default: no parameter is named " + quoted(name) +
                   (known.empty() ? "" : "; there are " + known));
  }
  const auto value = parse_value(it->domain, assignment.substr(equals + 1));
  if (!value) return failure(value.error().in("default of " + it->name));
  auto inside = admit(it->domain, *value);
  if (!inside) return failure(inside.error().in("default of " + it->name));
  it->default_value = std::move(*inside);
  return {};
}

}  // namespace hocket
