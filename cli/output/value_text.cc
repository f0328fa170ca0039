#include "cli/output/value_text.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/plain_text.h"

namespace hocket {
namespace {

constexpr double kLongestNs = 30.0 * 24 * 3600e9;
constexpr std::int64_t kAgeMinuteNs = 60LL * 1'000'000'000, kAgeDayNs = 24 * 60 * kAgeMinuteNs;
constexpr std::int64_t kMostAgeDays = 36'500;

/// Returns the length of a unit of parse_age(); 0 for another letter.
std::int64_t age_unit_ns(char unit) {
  switch (unit) {
    case 'm':
      return kAgeMinuteNs;
    case 'h':
      return 60 * kAgeMinuteNs;
    case 'd':
      return kAgeDayNs;
    case 'w':
      return 7 * kAgeDayNs;
    default:
      return 0;
  }
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text) {
  const auto seconds = parse_value(text, ObjectiveUnit::none);
  const auto ns =
      seconds ? Result<double>(*seconds * 1e9) : parse_value(text, ObjectiveUnit::nanoseconds);
  if (ns && *ns >= 1 && *ns <= kLongestNs) return static_cast<std::int64_t>(std::llround(*ns));
  return failure(ErrorCode::invalid_argument,
                 "expected a duration above 0 and up to 30 days, such as 90, 30s, 5m or 1.5h, "
                 "found \"" +
                     std::string(text) + "\"");
}

Result<std::int64_t> parse_age(std::string_view text) {
  const std::int64_t unit_ns = text.empty() ? 0 : age_unit_ns(text.back());
  if (unit_ns > 0) {
    const char* const end = text.data() + text.size() - 1;
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, count);
    const bool is_number = error == std::errc() && stop == end;
    if (is_number && count > 0 && count <= kMostAgeDays * kAgeDayNs / unit_ns)
      return count * unit_ns;
  }
  return failure(ErrorCode::invalid_argument,
                 "expected a whole number above 0 with m, h, d or w (minutes, hours, days, weeks), "
                 "such as 90d, and at most 36500d, found \"" +
                     std::string(text) + "\"");
}

std::string measured_text(std::optional<double> value, double spread, const ObjectiveUnit& unit) {
  if (!value) return "-";
  // The name of a program's own unit, unlike a scale, is the same for both.
  const ObjectiveUnit& of_value =
      unit.kind == ObjectiveUnit::Kind::own ? ObjectiveUnit::none : unit;
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
  return plain_line(text);
}

std::string params_text(const nlohmann::json& params) {
  const auto parsed = params_from_json(params);
  return parsed ? params_text(*parsed) : json_text(params);
}

std::string json_text(const nlohmann::json& document) {
  return plain_json(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace hocket
