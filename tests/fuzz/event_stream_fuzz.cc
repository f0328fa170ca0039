// Any bytes are refused or give events, and the same events however they are divided into pieces.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "client/link/event_stream_parser.h"
#include "core/base/check.h"

namespace {

using Events = std::vector<hocket::ServerEvent>;

std::optional<Events> parse(std::string_view bytes, std::size_t piece_bytes) {
  hocket::EventStreamParser parser(64);
  Events events;
  while (!bytes.empty()) {
    const auto ok = parser.feed(bytes.substr(0, piece_bytes),
                                [&](const hocket::ServerEvent& event) { events.push_back(event); });
    if (!ok) return std::nullopt;
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = parse(bytes, size + 1);
  HOCKET_CHECK(parse(bytes, 1) == whole && parse(bytes, 7) == whole, "events depend on the cut");
  return 0;
}
