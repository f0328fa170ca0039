#pragma once

// Says which device a rank runs on: the bytes that each rank sends to rank 0 once. Pure functions;
// any thread.
//
//   "HD" version=1 u8 | 16 bytes of the device's UUID, of a slice of a GPU that slice's

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::nccl {

/// The UUID by which the driver tells devices apart, on all hosts.
using DeviceId = std::array<unsigned char, 16>;

std::string encode_device(const DeviceId& device);

/// Returns nothing for bytes of another form.
std::optional<DeviceId> decode_device(std::string_view bytes);

}  // namespace hocket::nccl
