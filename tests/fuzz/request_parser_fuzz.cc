// Any bytes, in pieces whose sizes the first byte selects, give requests within the limits from
// hosts of loopback, and then a refusal or a need for more bytes: the path of a server's input.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "daemon/http/request_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using State = hocket::RequestParser::State;
  constexpr std::size_t kHeaderBytes = 512, kBodyBytes = 256;
  if (size == 0) return 0;
  const std::size_t piece_bytes = 1 + data[0] % 64;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const hocket::ServedAs loopback{.address = *hocket::parse_ip("127.0.0.1"), .port = 7077};
  hocket::RequestParser parser(kHeaderBytes, kBodyBytes, [&](const hocket::RequestHead& head) {
    auto refusal = hocket::refuse_origin(head, loopback, {});
    HOCKET_CHECK(refusal || (!head.host.empty() && head.host.find('@') == head.host.npos),
                 "only a host of loopback is served");
    return refusal;
  });
  while (!bytes.empty()) {
    const auto space = parser.space();
    const std::size_t count = std::min({space.size(), piece_bytes, bytes.size()});
    std::copy_n(bytes.begin(), count, space.begin());
    parser.received(count);
    bytes.remove_prefix(count);
    for (State state; (state = parser.next()) != State::needs_more;) {
      if (state == State::refused) {
        HOCKET_CHECK(parser.refusal().status >= 400, "a refusal is an error");
        return 0;
      }
      if (state == State::needs_continue) continue;
      const hocket::ParsedRequest parsed = parser.take();
      HOCKET_CHECK(!parsed.request.method.empty() && !parsed.request.target.empty(),
                   "a request asks for something");
      HOCKET_CHECK(parsed.request.target.size() <= kHeaderBytes, "the header has a limit");
      HOCKET_CHECK(parsed.request.body.size() <= kBodyBytes, "the body has a limit");
    }
  }
  return 0;
}
