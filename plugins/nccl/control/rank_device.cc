#include "plugins/nccl/control/rank_device.h"

#include <algorithm>

namespace hocket::nccl {
namespace {

constexpr std::string_view kHeader("HD\1", 3);

}  // namespace

std::string encode_device(const DeviceId& device) {
  std::string bytes(kHeader);
  bytes.append(device.begin(), device.end());
  return bytes;
}

std::optional<DeviceId> decode_device(std::string_view bytes) {
  DeviceId device;
  if (bytes.substr(0, kHeader.size()) != kHeader ||
      bytes.size() != kHeader.size() + device.size()) {
    return std::nullopt;
  }
  std::copy(bytes.begin() + kHeader.size(), bytes.end(), device.begin());
  return device;
}

}  // namespace hocket::nccl
