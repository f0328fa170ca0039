#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <system_error>

#include "core/base/plain_text.h"

namespace hocket {

std::string percent(double share) {
  const double value = 100 * share;
  char text[400];  // long enough for the largest double
  std::snprintf(text, sizeof text, std::abs(value) < 0.995 && value != 0 ? "%.2g %%" : "%.1f %%",
                value);
  return text;
}

std::string size_with_unit(std::int64_t bytes, std::string_view between) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && unit + 1 < std::size(kUnits) && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + std::string(between) + kUnits[unit];
}

Result<double> parse_percent(std::string_view text, double most) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  if (error == std::errc() && value >= 0 && value <= most && (rest == "%" || rest.empty())) {
    return value / 100;
  }
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", most);
  return failure(ErrorCode::invalid_argument, "expected a percentage from 0% to " +
                                                  std::string(limit) + "%, like 3%, found \"" +
                                                  std::string(text) + "\"");
}

std::string printable(std::string_view text, std::size_t limit_bytes, bool keep_end) {
  const auto is_inside = [](std::string_view bytes, std::size_t at) {
    return at < bytes.size() && (static_cast<unsigned char>(bytes[at]) & 0xc0) == 0x80;
  };
  // Cuts at the beginning of a character, which takes at most four bytes.
  const auto cut = [&](std::string_view bytes) {
    if (bytes.size() <= limit_bytes) return bytes;
    std::size_t at = keep_end ? bytes.size() - limit_bytes : limit_bytes;
    for (int i = 0; i < 3 && at > 0 && is_inside(bytes, at); ++i) at = keep_end ? at + 1 : at - 1;
    return keep_end ? bytes.substr(std::min(at, bytes.size())) : bytes.substr(0, at);
  };
  // Once before, because texts may be long, and once after, because a replacement has three bytes.
  return std::string(cut(plain_line(cut(text))));
}

std::string last_lines(std::string_view text, std::size_t lines, std::size_t limit_bytes) {
  std::deque<std::string_view> kept;
  while (!text.empty() && kept.size() < lines) {
    const auto end = text.find_last_not_of("\r\n");
    if (end == std::string_view::npos) break;
    text = text.substr(0, end + 1);
    const auto start = text.find_last_of("\r\n");
    const auto begin = start == std::string_view::npos ? 0 : start + 1;
    kept.push_front(text.substr(begin));
    text = text.substr(0, begin);
  }
  std::string joined;
  for (const auto line : kept) {
    if (!joined.empty()) joined += " | ";
    joined += line;
  }
  return printable(joined, limit_bytes, true);
}

std::string shell_quoted(const std::string& argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+=";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_text(std::span<const std::string> arguments) {
  std::string text;
  for (const auto& argument : arguments) text += (text.empty() ? "" : " ") + shell_quoted(argument);
  return text;
}

std::string date_text(std::int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(unix_ns)};
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace hocket
