// Any text is refused with an error, or gives segments and names that meet the parser's guarantees.

#include <cstddef>
#include <cstdint>
#include <set>

#include "core/base/check.h"
#include "daemon/http/request_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto target = hocket::parse_request_target({reinterpret_cast<const char*>(data), size});
  if (!target) return 0;
  for (const auto& segment : target->segments) {
    HOCKET_CHECK(!segment.empty() && segment != "." && segment != "..", "it leads elsewhere");
    HOCKET_CHECK(segment.find('\0') == segment.npos, "it ends early");
  }
  std::set<std::string> names;
  for (const auto& [name, value] : target->query) {
    HOCKET_CHECK(names.insert(name).second, "a name is there twice");
    HOCKET_CHECK(target->find(name) == value, "a name is found");
  }
  return 0;
}
