// Any text is refused or gives a process with numbers that are not negative: a process chooses its
// name, which the kernel shows as it is.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "tuner/trial/process/process_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto process = hocket::parse_process_stat(text, 1))
    HOCKET_CHECK(process->resident_bytes >= 0, "a size is not negative");
  static_cast<void>(hocket::parse_proportional_bytes(text));
  return 0;
}
