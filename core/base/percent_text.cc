#include "core/base/percent_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

namespace hocket {

std::string percent(double share) {
  const double value = 100 * share;
  char text[400];  // long enough for the largest double
  std::snprintf(text, sizeof text, std::abs(value) < 0.995 && value != 0 ? "%.2g %%" : "%.1f %%",
                value);
  return text;
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

}  // namespace hocket
