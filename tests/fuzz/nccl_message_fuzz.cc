// Any bytes need more, are refused with an error, or begin with the only frame of a message. Frames
// that follow one another are read like a link's. What messages carry, settings and measured
// collectives, and the text by which hosts meet are refused or read back as well.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "core/base/check.h"
#include "plugins/nccl/agreement/message.h"
#include "plugins/nccl/measure/collective_statistics.h"
#include "plugins/nccl/transport/socket_address.h"
#include "plugins/nccl/tuning/setting.h"

namespace {

void read_what_messages_carry(const std::string& bytes) {
  using namespace hocket::nccl;
  if (const auto setting = decode_setting(bytes))
    HOCKET_CHECK(encode(*setting) == bytes, "a setting is not written as it was read");
  if (const auto collectives = measure::decode_collectives(bytes))
    HOCKET_CHECK(measure::encode(*collectives) == bytes, "collectives are not written as read");
  const Meeting meeting = read_meeting(bytes);
  HOCKET_CHECK(meeting.addresses.empty() || meeting.secret.size() == Meeting::kSecretBytes,
               "there are addresses without a secret");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_what_messages_carry(std::string(reinterpret_cast<const char*>(data), size));
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
