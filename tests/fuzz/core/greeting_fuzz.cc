// A client gets through a greeting, or an error of one line, whatever the server sends. It believes
// no server that does not have its secret, and makes no room for more than a text of the longest
// length.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/greeting/client_side.h"

namespace {

using namespace hocket;

constexpr greeting::Protocol kProtocol = {.magic = 0x73706b68,  // as the seeds have it
                                          .version = 3,
                                          .name = "the protocol",
                                          .server = "the server",
                                          .everyone = "everyone"};

void meet(std::string_view said, const std::string& secret) {
  const greeting::Channel channel = {
      .read = [&](void* into, std::size_t bytes) -> Result<void> {
        HOCKET_CHECK(bytes <= greeting::kLongestText, "nobody sends so much at once");
        if (said.size() < bytes) return failure(ErrorCode::unavailable, "it is gone");
        std::memcpy(into, said.data(), bytes);
        said.remove_prefix(bytes);
        return {};
      },
      .write = [](const void*, std::size_t) { return Result<void>(); }};
  bool try_again = false;
  const auto met = greeting::greet_server(channel, kProtocol, secret, "it", "details", try_again);
  if (met) {
    HOCKET_CHECK(secret.empty(), "it believed a server without the secret");
    return;
  }
  const std::string& message = met.error().message;
  HOCKET_CHECK(message.size() <= greeting::kLongestText + 100, "a message is short");
  HOCKET_CHECK(message.find('\n') == std::string::npos, "a message has one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view said(reinterpret_cast<const char*>(data), size);
  meet(said, "");
  meet(said, "a secret");
  return 0;
}
