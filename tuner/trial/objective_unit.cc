#include "tuner/trial/objective_unit.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <vector>

#include "core/base/text.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

struct Scale {
  std::string_view name, other_name;
  double factor;
  bool for_values = true;  ///< value_text() uses this scale
};

// Largest first, in the order in which value_text() searches; sizes are parsed by
// tuner/space/size_text.h. Hours and minutes are for limits;
// measurements are shown in seconds.
constexpr Scale kTimes[] = {{"h", "h", 3600e9, false}, {"m", "m", 60e9, false}, {"s", "s", 1e9},
                            {"ms", "ms", 1e6},         {"us", "us", 1e3},       {"ns", "", 1}};
constexpr Scale kSizes[] = {{"TiB", "", 0x1p40},
                            {"GiB", "", 0x1p30},
                            {"MiB", "", 0x1p20},
                            {"KiB", "", 0x1p10},
                            {"B", "", 1}};
constexpr std::size_t kUnitQuoteBytes = 60;

std::vector<Scale> scales(const ObjectiveUnit& unit) {
  switch (unit.kind) {
    case ObjectiveUnit::Kind::nanoseconds:
      return {std::begin(kTimes), std::end(kTimes)};
    case ObjectiveUnit::Kind::bytes:
      return {std::begin(kSizes), std::end(kSizes)};
    case ObjectiveUnit::Kind::own:
      break;
  }
  return {{unit.name, "", 1}};
}

/// Returns the factor of the scale `name` of `unit`, if there is one.
std::optional<double> factor_of(std::string_view name, const ObjectiveUnit& unit) {
  if (unit.kind == ObjectiveUnit::Kind::bytes) return size_factor(name);
  for (const Scale& scale : scales(unit)) {
    if (name == scale.name || name == scale.other_name) return scale.factor;
  }
  return std::nullopt;
}

std::string expected(const ObjectiveUnit& unit) {
  switch (unit.kind) {
    case ObjectiveUnit::Kind::nanoseconds:
      return "a time such as 1500000 (nanoseconds), 250ms, 60s or 5m";
    case ObjectiveUnit::Kind::bytes:
      return "a number of bytes such as 65536, 512M, 4GiB or 100MB";
    case ObjectiveUnit::Kind::own:
      break;
  }
  return unit.name.empty() ? "a number" : "a number of " + unit.name;
}

std::string number_text(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

}  // namespace

ObjectiveUnit unit_of(const Objective& objective) {
  switch (objective.kind) {
    case ObjectiveKind::automatic:
    case ObjectiveKind::wall:
    case ObjectiveKind::report:
      return ObjectiveUnit::nanoseconds;
    case ObjectiveKind::memory:
      return ObjectiveUnit::bytes;
    case ObjectiveKind::regex:
    case ObjectiveKind::file:
      break;
  }
  return {ObjectiveUnit::Kind::own, objective.unit};
}

std::string to_string(const ObjectiveUnit& unit) {
  switch (unit.kind) {
    case ObjectiveUnit::Kind::nanoseconds:
      return "ns";
    case ObjectiveUnit::Kind::bytes:
      return "bytes";
    case ObjectiveUnit::Kind::own:
      break;
  }
  return unit.name;
}

std::string value_text(double value, const ObjectiveUnit& unit) {
  if (unit.kind == ObjectiveUnit::Kind::own)
    return number_text(value, 6) + (unit.name.empty() ? "" : " " + unit.name);
  for (const Scale& scale : scales(unit)) {
    if (!scale.for_values || (std::abs(value) < scale.factor && scale.factor > 1)) continue;
    return number_text(value / scale.factor, 4) + " " + std::string(scale.name);
  }
  return number_text(value, 4);
}

Result<double> parse_value(std::string_view text, const ObjectiveUnit& unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto name = text.substr(static_cast<std::size_t>(end - text.data()));
  if (const auto factor = factor_of(name, unit); factor && error == std::errc()) {
    const double value = number * *factor;
    if (value >= 0 && std::isfinite(value)) return value;
  }
  return failure(ErrorCode::invalid_argument, "expected " + expected(unit) +
                                                  ", at least 0, found \"" +
                                                  printable(text, kUnitQuoteBytes) + "\"");
}

}  // namespace hocket
