#include "core/greeting/messages.h"

#include "core/base/text.h"

namespace hocket::greeting {

Result<void> check_opening(const Protocol& protocol, const Opening& opening,
                           std::string_view peer) {
  if (opening.magic != protocol.magic) {
    return failure(ErrorCode::unavailable,
                   std::string(peer) + " does not speak " + std::string(protocol.name) +
                       " as this program does; see what listens there, and run the same hocket "
                       "everywhere");
  }
  if (opening.version != protocol.version) {
    return invalid(std::string(peer) + " speaks version " + std::to_string(opening.version) +
                   " of " + std::string(protocol.name) + ", this program version " +
                   std::to_string(protocol.version) + "; run the same hocket everywhere");
  }
  return {};
}

Refusal refusal_of(const Error& error) {
  std::string text = error.message.substr(0, kLongestText);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  return {{1 + static_cast<std::uint32_t>(error.code), bytes}, std::move(text)};
}

std::string refusing_greeting(const Protocol& protocol, const Error& error) {
  const Refusal refusal = refusal_of(error);
  const Greeting own{.opening = opening_of(protocol), .outcome = refusal.outcome};
  return std::string(message_bytes(own)) + refusal.text;
}

bool is_refusal(const Outcome& outcome) {
  return outcome.code > kDone &&
         outcome.code <= 1 + static_cast<std::uint32_t>(ErrorCode::interrupted) &&
         outcome.text_bytes <= kLongestText;
}

Error error_of(const Outcome& outcome, std::string_view text) {
  return {static_cast<ErrorCode>(outcome.code - 1), printable(text, kLongestText)};
}

}  // namespace hocket::greeting
