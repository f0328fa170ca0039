// Any pattern, up to the first zero byte, takes any output behind it apart, and gives numbers of at
// least 0 or an error.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "tuner/trial/output/measured_number.h"
#include "tuner/trial/output/output_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto end = std::min(input.find('\0'), input.size());
  const auto text = input.substr(std::min(end + 1, input.size()));
  HOCKET_CHECK(hocket::last_states(text).size() <= text.size(), "states are parts of the output");
  const std::string pattern(input.substr(0, end));
  const auto matcher = hocket::LineMatcher::make(pattern);
  if (!matcher) return 0;
  std::optional<hocket::NumberUnit> unit;
  const auto samples = hocket::measured_samples(matcher->matches(text), 0, pattern, unit);
  if (!samples) return 0;
  for (const double sample : *samples) HOCKET_CHECK(sample >= 0, "a number of at least 0");
  return 0;
}
