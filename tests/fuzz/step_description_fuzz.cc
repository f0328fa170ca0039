// Any text is refused with an error, or gives a description that is valid in both forms and is
// written and read back as the same value.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/step/step_description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto step = hocket::parse_step_description({reinterpret_cast<const char*>(data), size});
  if (!step) return 0;
  HOCKET_CHECK(hocket::validate(*step), "what was read is not valid");
  HOCKET_CHECK(hocket::validate(hocket::expand(*step)), "its general form is not valid");
  const auto read_back = hocket::parse_step_description(hocket::to_json(*step).dump());
  HOCKET_CHECK(read_back && *read_back == *step, "it is not read back as it was written");
  return 0;
}
