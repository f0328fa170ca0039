// Any text is refused with an error, or gives a message that is written and read back equal.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/protocol/job_message.h"

namespace {

/// Checks that a message read from `document`, if any, is equal after being written and read.
template <class Read>
void round_trip(const nlohmann::json& document, const Read& read) {
  const auto message = read(document);
  if (!message) return;
  const auto again = read(to_json(*message));
  HOCKET_CHECK(again && *again == *message, "it is not read back as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document =
      hocket::parse_object({reinterpret_cast<const char*>(data), size}, "message");
  if (!document) return 0;
  round_trip(*document, hocket::job_description_from_json);
  round_trip(*document, hocket::job_report_from_json);
  for (const char* type : {"config", "candidate", "profile"}) {
    round_trip(*document, [type](const nlohmann::json& message) {
      return hocket::daemon_message_from_json(type, message);
    });
  }
  return 0;
}
