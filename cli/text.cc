#include "cli/text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace hocket {
namespace {

struct TimeUnit {
  std::string_view name;
  double ns;
};

// Largest first, as value_text() looks for one.
constexpr std::array<TimeUnit, 6> kTimeUnits = {
    {{"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};
constexpr double kLongestNs = 30.0 * 24 * 3600e9;

struct SizeUnit {
  std::string_view name, other_name;
  std::int64_t bytes;
};

constexpr std::array<SizeUnit, 9> kSizeUnits = {{{"", "B", 1},
                                                 {"KiB", "K", std::int64_t{1} << 10},
                                                 {"MiB", "M", std::int64_t{1} << 20},
                                                 {"GiB", "G", std::int64_t{1} << 30},
                                                 {"TiB", "T", std::int64_t{1} << 40},
                                                 {"kB", "KB", 1'000},
                                                 {"MB", "MB", 1'000'000},
                                                 {"GB", "GB", 1'000'000'000},
                                                 {"TB", "TB", 1'000'000'000'000}}};

std::string number_text(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

}  // namespace

Unit unit_of(const Objective& objective) {
  const bool is_plain =
      objective.kind == ObjectiveKind::regex || objective.kind == ObjectiveKind::file;
  return is_plain ? Unit::none : Unit::nanoseconds;
}

Result<std::int64_t> parse_duration(std::string_view text) {
  const auto refuse = [&] {
    return failure(ErrorCode::invalid_argument,
                   "expected a duration above 0 and up to 30 days, such as 90, 30s, 5m or 1.5h, "
                   "found \"" +
                       std::string(text) + "\"");
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return refuse();
  std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  if (name.empty()) name = "s";
  for (const auto& unit : kTimeUnits) {
    if (unit.name != name) continue;
    const double ns = number * unit.ns;
    if (!(ns >= 1 && ns <= kLongestNs)) return refuse();
    return static_cast<std::int64_t>(std::llround(ns));
  }
  return refuse();
}

Result<std::int64_t> parse_size(std::string_view text) {
  const auto refuse = [&] {
    return failure(
        ErrorCode::invalid_argument,
        "expected a size such as 65536, 4MiB, 256KiB or 1MB, found \"" + std::string(text) + "\"");
  };
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return refuse();
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& unit : kSizeUnits) {
    if (unit.name != name && unit.other_name != name) continue;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(number, unit.bytes, &bytes)) return refuse();
    return bytes;
  }
  return refuse();
}

std::string value_text(double value, Unit unit) {
  if (unit == Unit::none) return number_text(value, 6);
  for (const auto& time : kTimeUnits) {
    // Hours and minutes are for limits; measurements read better in seconds.
    if (time.ns > 1e9 || (std::abs(value) < time.ns && time.ns > 1)) continue;
    return number_text(value / time.ns, 4) + " " + std::string(time.name);
  }
  return number_text(value, 4);
}

std::string measured_text(std::optional<double> value, double spread, Unit unit) {
  if (!value) return "-";
  return value_text(*value, unit) + " ± " + value_text(spread, unit);
}

std::string percent_text(double share) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string time_text(std::int64_t unix_ns) {
  using namespace std::chrono;
  const auto seconds_since = floor<seconds>(sys_time<nanoseconds>(nanoseconds(unix_ns)));
  const auto day = floor<days>(seconds_since);
  const year_month_day date{day};
  const hh_mm_ss time{seconds_since - day};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

std::string params_text(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params) {
    text += (text.empty() ? "" : " ") + name + "=" + to_text(value);
  }
  return text;
}

std::string params_text(const nlohmann::json& params) {
  const auto parsed = params_from_json(params);
  return parsed ? params_text(*parsed) : json_text(params);
}

std::string json_text(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string emulation_note(const Topology& topology) {
  constexpr std::string_view kPrefix = "emulated";
  if (!topology.link.starts_with(kPrefix)) return {};
  std::string_view rest = std::string_view(topology.link).substr(kPrefix.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return "emulated link: " + std::string(rest);
}

}  // namespace hocket
