#include "cli/output/value_text.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

constexpr double kLongestNs = 30.0 * 24 * 3600e9;

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
