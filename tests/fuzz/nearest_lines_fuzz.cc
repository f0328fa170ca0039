// Any pattern, up to the first zero byte, and any output behind it give at most the lines asked
// for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "tuner/trial/output/nearest_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto end = std::min(input.find('\0'), input.size());
  const auto text = input.substr(std::min(end + 1, input.size()));
  HOCKET_CHECK(hocket::nearest_lines(input.substr(0, end), text, 3).size() <= 3,
               "no more lines than asked for");
  return 0;
}
