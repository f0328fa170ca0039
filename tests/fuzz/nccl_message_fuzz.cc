// Any bytes need more, are refused with an error, or begin with the only frame of a message. Frames
// that follow one another are read like a link's.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "core/base/check.h"
#include "plugins/nccl/agreement/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  while (true) {
    const auto decoded = hocket::nccl::decode(bytes);
    if (!decoded.message) {
      HOCKET_CHECK(decoded.consumed == 0, "bytes were consumed without a message");
      return 0;
    }
    HOCKET_CHECK(decoded.error.empty(), "there are a message and an error");
    HOCKET_CHECK(decoded.consumed <= bytes.size(), "more was consumed than there is");
    const std::string again = hocket::nccl::encode(*decoded.message);
    HOCKET_CHECK(again.size() == decoded.consumed &&
                     std::memcmp(again.data(), bytes.data(), again.size()) == 0,
                 "it is not written as it was read");
    bytes = bytes.subspan(decoded.consumed);
  }
}
