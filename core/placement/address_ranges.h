#pragma once

// Ranges of the device's memory for data that are there at different times: first fit, the largest
// first. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/placement/residency.h"

namespace hocket::placement {

/// Ranges begin at multiples of this, as devices want it.
inline constexpr std::int64_t kAlignmentBytes = 256;
constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

struct AddressRanges {
  std::vector<std::int64_t> address_bytes;  ///< by data item; kNotOnDevice
  std::int64_t peak_bytes = 0;
};

/// Returns ranges below `limit_bytes`, or nothing where first fit finds none. Data have ranges of
/// their own also while they are fetched in advance, and data that are copied to or from the host
/// share theirs only with each other, where there is room for that.
std::optional<AddressRanges> find_ranges(std::span<const DataToPlace> data,
                                         std::span<const Residency> residencies,
                                         std::int64_t limit_bytes);

}  // namespace hocket::placement
