// Any text is refused with an error, or gives a configuration that is valid and is written and read
// back as the same value.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/step/schedule_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = hocket::parse_schedule_config({reinterpret_cast<const char*>(data), size});
  if (!config) return 0;
  HOCKET_CHECK(hocket::validate(*config), "what was read is not valid");
  const auto read_back = hocket::parse_schedule_config(hocket::to_json(*config).dump());
  HOCKET_CHECK(read_back && *read_back == *config, "it is not read back as it was written");
  return 0;
}
