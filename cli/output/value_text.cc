#include "cli/output/value_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

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

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text) {
  const auto seconds = parse_value(text, Unit::none);
  const auto ns = seconds ? Result<double>(*seconds * 1e9) : parse_value(text, Unit::nanoseconds);
  if (ns && *ns >= 1 && *ns <= kLongestNs) return static_cast<std::int64_t>(std::llround(*ns));
  return failure(ErrorCode::invalid_argument,
                 "expected a duration above 0 and up to 30 days, such as 90, 30s, 5m or 1.5h, "
                 "found \"" +
                     std::string(text) + "\"");
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

std::string measured_text(std::optional<double> value, double spread, const Unit& unit) {
  if (!value) return "-";
  // The name of a program's own unit, unlike a scale, is the same for both.
  const Unit& of_value = unit.kind == Unit::Kind::own ? Unit::none : unit;
  return value_text(*value, of_value) + " ± " + value_text(spread, unit);
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

}  // namespace hocket
