#include "core/servers/wire.h"

#include <limits>

#include "core/base/printable_text.h"

namespace hocket::server_wire {

Result<void> check_opening(const Opening& opening, std::string_view peer) {
  if (opening.magic != kMagic)
    return failure(ErrorCode::unavailable, std::string(peer) + " speaks another protocol");
  if (opening.version != kVersion) {
    return invalid(std::string(peer) + " speaks version " + std::to_string(opening.version) +
                   " of the parameter servers' protocol, this program version " +
                   std::to_string(kVersion) + "; run the same hocket everywhere");
  }
  return {};
}

Result<void> check_request(const Request& request) {
  if (request.operation < kPush || request.operation > kGoodbye || request.reserved != 0)
    return invalid("there is no such request");
  if (request.offset_bytes < 0 || request.offset_bytes % std::int64_t{sizeof(float)} != 0)
    return invalid("a part begins at a multiple of the size of its values");
  if (request.values > std::numeric_limits<std::int64_t>::max() / sizeof(float))
    return invalid("no part has so many values");
  if (request.timeout_ns < 0 || request.timeout_ns > kLongestWaitNs)
    return invalid("nobody waits for so long");
  return {};
}

Refusal refusal_of(const Error& error) {
  return {1 + static_cast<std::uint32_t>(error.code), error.message.substr(0, kLongestText)};
}

bool is_refusal(std::uint32_t code, std::uint32_t text_bytes) {
  return code > kDone && code <= 1 + static_cast<std::uint32_t>(ErrorCode::interrupted) &&
         text_bytes <= kLongestText;
}

Error error_of(std::uint32_t code, std::string_view text) {
  return {static_cast<ErrorCode>(code - 1), printable(text, kLongestText)};
}

}  // namespace hocket::server_wire
