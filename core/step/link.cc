#include "core/step/link.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace hocket {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 4> kRates{{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};
constexpr std::array<Unit, 4> kTimes{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

/// Parses a number followed by one of the units; returns the number times the unit's factor.
template <std::size_t N>
std::optional<double> parse_quantity(std::string_view text, const std::array<Unit, N>& units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& u : units) {
    if (u.name == unit) return number * u.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string quantity_text(double value, const std::array<Unit, N>& units_descending) {
  for (const Unit& u : units_descending) {
    const double scaled = value / u.factor;
    if (scaled < 1 && u.factor > 1) continue;
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), scaled).ptr;
    return std::string(digits.data(), end) + std::string(u.name);
  }
  return "0";
}

}  // namespace

Result<LinkSpec> parse_link(std::string_view text) {
  const auto comma = text.find(',');
  const auto rate = parse_quantity(text.substr(0, comma), kRates);
  if (!rate || *rate < 1e3 || *rate > 1e13) {
    return failure(ErrorCode::invalid_argument,
                   "link \"" + std::string(text) +
                       "\": expected RATE[,LATENCY] with a rate from 1kbit to 10000gbit, like "
                       "500mbit or 10gbit,20us");
  }
  LinkSpec link{*rate / 8, 0};
  if (comma == std::string_view::npos) return link;
  const auto latency = parse_quantity(text.substr(comma + 1), kTimes);
  if (!latency || *latency < 0 || *latency > 1e10) {
    return failure(
        ErrorCode::invalid_argument,
        "link \"" + std::string(text) + "\": expected a latency from 0ns to 10s, like 20us");
  }
  link.latency_ns = static_cast<std::int64_t>(*latency);
  return link;
}

std::string to_string(const LinkSpec& link) {
  constexpr std::array<Unit, 4> descending{{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};
  std::string text = quantity_text(link.bytes_per_second * 8, kRates);
  if (link.latency_ns > 0)
    text += "," + quantity_text(static_cast<double>(link.latency_ns), descending);
  return text;
}

}  // namespace hocket
