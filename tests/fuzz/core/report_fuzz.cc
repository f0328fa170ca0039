// Any text is refused with an error, or gives a report that is written and read back.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/protocol/job_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report = hocket::parse_report({reinterpret_cast<const char*>(data), size});
  if (!report) return 0;
  HOCKET_CHECK(hocket::parse_report(hocket::to_json(*report).dump()),
               "it is not read back as it was written");
  return 0;
}
