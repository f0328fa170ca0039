// Any bytes, in pieces whose sizes the first byte selects, give requests within the limits from
// hosts of loopback, and then a refusal or a need for more bytes: the path of a server's input.
// Each request is the one that the strictest reader finds at that place, and none follows a
// refusal.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "daemon/http/request_parser.h"
#include "tests/daemon/http/strict_reading.h"

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
  std::string_view unread = bytes;  // of the strict reader
  bool was_refused = false;
  while (!bytes.empty()) {
    const auto space = parser.space();
    const std::size_t count = std::min({space.size(), piece_bytes, bytes.size()});
    std::copy_n(bytes.begin(), count, space.begin());
    parser.received(count);
    bytes.remove_prefix(count);
    for (State state; (state = parser.next()) != State::needs_more;) {
      if (state == State::refused) {
        HOCKET_CHECK(parser.refusal().status >= 400, "a refusal is an error");
        was_refused = true;
        break;
      }
      HOCKET_CHECK(!was_refused, "nothing follows a refusal");
      if (state == State::needs_continue) continue;
      const hocket::ParsedRequest parsed = parser.take();
      const auto strict = hocket::read_strictly(unread);
      HOCKET_CHECK(strict && strict->target == parsed.request.target &&
                       strict->body == parsed.request.body &&
                       (parsed.is_head || strict->method == parsed.request.method),
                   "everybody reads the same request");
      unread.remove_prefix(strict->bytes);
      HOCKET_CHECK(!parsed.request.method.empty() && !parsed.request.target.empty(),
                   "a request asks for something");
      HOCKET_CHECK(parsed.request.target.size() <= kHeaderBytes, "the header has a limit");
      HOCKET_CHECK(parsed.request.body.size() <= kBodyBytes, "the body has a limit");
    }
  }
  return 0;
}
