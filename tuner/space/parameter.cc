#include "tuner/space/parameter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/check.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"
#include "core/step/tool_knob.h"

namespace hocket {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

/// Returns high − low without overflow.
std::uint64_t width(const IntegerRange& range) {
  return static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low);
}

std::int64_t offset_from(const IntegerRange& range, std::uint64_t offset) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.low) +
                                   std::min(offset, width(range)));
}

/// Returns the number of bins of an integer range as a double: width + 1.
double bins(const IntegerRange& range) {
  return static_cast<double>(width(range)) + 1.0;
}

/// Returns log((low + offset) / low), accurate for narrow ranges of large numbers as well.
double log_ratio(const IntegerRange& range, double offset) {
  return std::log1p(offset / static_cast<double>(range.low));
}

double encode_integer(const IntegerRange& range, std::int64_t value) {
  const auto offset = static_cast<double>(static_cast<std::uint64_t>(value) -
                                          static_cast<std::uint64_t>(range.low));
  if (!range.log) return (offset + 0.5) / bins(range);
  const double middle = (log_ratio(range, offset) + log_ratio(range, offset + 1)) / 2;
  return middle / log_ratio(range, bins(range));
}

std::int64_t decode_integer(const IntegerRange& range, double unit) {
  const double offset =
      range.log ? static_cast<double>(range.low) * std::expm1(unit * log_ratio(range, bins(range)))
                : unit * bins(range);
  // Compared as doubles first: converting a double beyond 64 bits is undefined behaviour.
  if (offset >= static_cast<double>(width(range))) return range.high;
  return offset_from(range, static_cast<std::uint64_t>(offset));
}

double encode_real(const RealRange& range, double value) {
  if (range.low == range.high) return 0.5;
  if (range.log) {
    return (std::log(value) - std::log(range.low)) / (std::log(range.high) - std::log(range.low));
  }
  // Halved, so that a range as wide as all doubles does not overflow.
  return (value / 2 - range.low / 2) / (range.high / 2 - range.low / 2);
}

double decode_real(const RealRange& range, double unit) {
  const double value =
      range.log ? std::exp(std::log(range.low) * (1 - unit) + std::log(range.high) * unit)
                : range.low * (1 - unit) + range.high * unit;
  return std::clamp(value, range.low, range.high);
}

/// Returns the index of `value`, or the number of values if it is not one of them.
std::size_t index_of(const Choices& choices, const std::string& value) {
  const auto& names = choices.names;
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), value) - names.begin());
}

std::size_t index_of(const Levels& levels, const ParameterValue& value) {
  const auto& values = levels.values;
  const auto it = std::lower_bound(values.begin(), values.end(), value);
  if (it == values.end() || *it != value) return values.size();
  return static_cast<std::size_t>(it - values.begin());
}

/// Returns the middle of the `index`-th of `count` equal bins.
double encode_index(std::size_t index, std::size_t count) {
  HOCKET_CHECK(index < count, "only a value inside can be encoded");
  return (static_cast<double>(index) + 0.5) / static_cast<double>(count);
}

std::size_t decode_index(std::size_t count, double unit) {
  return std::min(static_cast<std::size_t>(unit * static_cast<double>(count)), count - 1);
}

Result<void> validate_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool good =
      !name.empty() && is_letter(name[0]) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
  const bool is_regions = find_knob(name) != nullptr && std::ranges::all_of(name, [&](char c) {
                            return is_letter(c) || is_digit(c) || c == '.' || c == '-';
                          });
  if (!good && !is_regions && !is_job_knob(name) && !is_tool_knob(name)) {
    return invalid(
        "parameter name \"" + name +
        "\": expected letters, digits and underscores, not starting with a digit, or a knob of "
        "a region, as in regions.backward_layer1.partition_bytes, of the job's own, as in "
        "job.bucket_cap_bytes, or of a tool, as in deepspeed.zero_optimization.overlap_comm");
  }
  if (name.starts_with("HOCKET_") && !is_own_knob(name)) {
    return invalid("parameter name \"" + name +
                   "\": names that start with HOCKET_ are kept for hocket's own variables");
  }
  return {};
}

template <class Range>
Result<void> validate_range(const Range& range) {
  if (range.low > range.high) {
    return invalid("low " + to_text(range.low) + " is above high " + to_text(range.high));
  }
  if (range.log && range.low <= 0) {
    return invalid("a logarithmic range needs low > 0, found " + to_text(range.low));
  }
  return {};
}

Result<void> validate_choices(const Choices& choices) {
  if (choices.names.empty()) return invalid("expected at least one choice");
  std::set<std::string> seen;
  for (const auto& name : choices.names) {
    if (name.empty()) return invalid("a choice is empty");
    if (name.find('\0') != std::string::npos) return invalid("a choice holds a zero byte");
    try {
      static_cast<void>(nlohmann::json(name).dump());
    } catch (const nlohmann::json::exception&) {
      return invalid("a choice is not valid UTF-8");
    }
    if (!seen.insert(name).second) return invalid("choice \"" + name + "\" is there twice");
  }
  return {};
}

Result<void> validate_levels(const Levels& levels) {
  if (levels.values.empty()) return invalid("expected at least one level");
  for (const auto& value : levels.values) {
    if (std::holds_alternative<std::string>(value)) {
      return invalid("expected levels that are numbers, found \"" + to_text(value) + "\"");
    }
    if (value.index() != levels.values.front().index()) {
      return invalid("levels must be all integers or all reals");
    }
    if (const auto* real = std::get_if<double>(&value); real && !std::isfinite(*real)) {
      return invalid("levels must be finite, found " + to_text(value));
    }
  }
  for (std::size_t i = 1; i < levels.values.size(); ++i) {
    if (levels.values[i - 1] < levels.values[i]) continue;
    return invalid("levels must rise: " + to_text(levels.values[i]) + " comes after " +
                   to_text(levels.values[i - 1]));
  }
  return {};
}

template <class Values>
std::string one_of(const Values& values) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + to_text(values[i]);
  }
  return text;
}

}  // namespace

bool is_own_knob(std::string_view name) {
  // The one list of hocket's own variables that a study may search and a store may set.
  constexpr std::array<std::string_view, 4> kOwnKnobs = {
      "HOCKET_TORCH_BUCKET_CAP_MB", "HOCKET_TORCH_OPTIMIZE_DDP", "HOCKET_TORCH_REORDER_OVERLAP",
      "HOCKET_TORCH_BUCKET_COLLECTIVES_MB"};
  return std::ranges::count(kOwnKnobs, name) > 0;
}

Result<void> validate_domain(const Parameter& parameter) {
  if (auto ok = validate_name(parameter.name); !ok) return ok;
  const auto ok =
      std::visit(Overloaded{[](const IntegerRange& range) { return validate_range(range); },
                            [](const RealRange& range) -> Result<void> {
                              if (!std::isfinite(range.low) || !std::isfinite(range.high)) {
                                return invalid("low and high must be finite");
                              }
                              return validate_range(range);
                            },
                            [](const Choices& choices) { return validate_choices(choices); },
                            [](const Levels& levels) { return validate_levels(levels); }},
                 parameter.domain);
  if (!ok) return failure(ok.error().in("parameter " + parameter.name));
  return {};
}

Result<void> validate(const Parameter& parameter) {
  if (auto ok = validate_domain(parameter); !ok) return ok;
  const auto value = admit(parameter.domain, parameter.default_value);
  if (!value) return failure(value.error().in("parameter " + parameter.name + ", default"));
  return {};
}

ParameterValue middle_value(const Domain& domain) {
  return std::visit(
      Overloaded{
          [](const IntegerRange& range) -> ParameterValue {
            if (!range.log) return offset_from(range, width(range) / 2);
            const double root = std::sqrt(static_cast<double>(range.low)) *
                                std::sqrt(static_cast<double>(range.high));
            // Products of square roots of powers of two may fall slightly short of an integer.
            const double offset = root * (1 + 1e-12) - static_cast<double>(range.low);
            if (offset >= static_cast<double>(width(range))) return range.high;
            return offset_from(range, static_cast<std::uint64_t>(std::max(offset, 0.0)));
          },
          [](const RealRange& range) -> ParameterValue { return decode_real(range, 0.5); },
          [](const Choices& choices) -> ParameterValue { return choices.names.front(); },
          [](const Levels& levels) { return levels.values[(levels.values.size() - 1) / 2]; }},
      domain);
}

std::uint64_t value_count(const Domain& domain) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  return std::visit(
      Overloaded{
          [](const IntegerRange& range) { return width(range) == most ? most : width(range) + 1; },
          [](const RealRange& range) { return range.low == range.high ? 1 : most; },
          [](const Choices& choices) -> std::uint64_t { return choices.names.size(); },
          [](const Levels& levels) -> std::uint64_t { return levels.values.size(); }},
      domain);
}

Result<ParameterValue> admit(const Domain& domain, const ParameterValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  const auto* text = std::get_if<std::string>(&value);
  if (const auto* range = std::get_if<IntegerRange>(&domain)) {
    if (integer && *integer >= range->low && *integer <= range->high) return value;
  } else if (const auto* range = std::get_if<RealRange>(&domain)) {
    const double number = integer ? static_cast<double>(*integer) : real ? *real : NAN;
    if (number >= range->low && number <= range->high) return number;
  } else if (const auto* levels = std::get_if<Levels>(&domain)) {
    const bool widens = integer && std::holds_alternative<double>(levels->values.front());
    const ParameterValue held = widens ? static_cast<double>(*integer) : value;
    if (index_of(*levels, held) < levels->values.size()) return held;
  } else if (text) {
    const auto& choices = std::get<Choices>(domain);
    if (index_of(choices, *text) < choices.names.size()) return value;
  }
  return invalid("expected " + describe(domain) + ", found " +
                 (text ? "\"" + *text + "\"" : to_text(value)));
}

double encode(const Domain& domain, const ParameterValue& value) {
  return std::visit(
      Overloaded{
          [&](const IntegerRange& range) {
            return encode_integer(range, std::get<std::int64_t>(value));
          },
          [&](const RealRange& range) { return encode_real(range, std::get<double>(value)); },
          [&](const Choices& choices) {
            return encode_index(index_of(choices, std::get<std::string>(value)),
                                choices.names.size());
          },
          [&](const Levels& levels) {
            return encode_index(index_of(levels, value), levels.values.size());
          }},
      domain);
}

ParameterValue decode(const Domain& domain, double unit) {
  unit = std::isnan(unit) ? 0.5 : std::clamp(unit, 0.0, 1.0);
  return std::visit(
      Overloaded{
          [&](const IntegerRange& range) -> ParameterValue { return decode_integer(range, unit); },
          [&](const RealRange& range) -> ParameterValue { return decode_real(range, unit); },
          [&](const Choices& choices) -> ParameterValue {
            return choices.names[decode_index(choices.names.size(), unit)];
          },
          [&](const Levels& levels) {
            return levels.values[decode_index(levels.values.size(), unit)];
          }},
      domain);
}

ParameterValue value_at(const Domain& domain, std::uint64_t index) {
  return std::visit(
      Overloaded{
          [&](const IntegerRange& range) -> ParameterValue { return offset_from(range, index); },
          [&](const RealRange& range) -> ParameterValue { return range.low; },
          [&](const Choices& choices) -> ParameterValue { return choices.names.at(index); },
          [&](const Levels& levels) { return levels.values.at(index); }},
      domain);
}

std::string describe(const Domain& domain) {
  return std::visit(
      Overloaded{[](const IntegerRange& range) {
                   return "an integer from " + to_text(range.low) + " to " + to_text(range.high);
                 },
                 [](const RealRange& range) {
                   return "a number from " + to_text(range.low) + " to " + to_text(range.high);
                 },
                 [](const Choices& choices) { return one_of(choices.names); },
                 [](const Levels& levels) { return one_of(levels.values); }},
      domain);
}

}  // namespace hocket
