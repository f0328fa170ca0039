#pragma once

// Decodes the bytes of a CUPTI buffer into records. Pure: it reads the bytes, by CUPTI's layout,
// and follows no pointer in them.

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/cupti/activity.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

struct DecodedBuffer {
  std::vector<CuptiActivity> activities;  ///< in the buffer's order
  QuarantineCounts quarantined;
  std::int64_t ignored = 0;  ///< records of kinds that describe no work

  /// Returns the number of records. Each one is in one of the three groups.
  std::int64_t records() const {
    return static_cast<std::int64_t>(activities.size()) + quarantined.total() + ignored;
  }
};

/// Decodes a buffer. Any bytes at any alignment are allowed.
DecodedBuffer decode_buffer(const CuptiApi& api, std::span<const std::uint8_t> bytes);

}  // namespace hocket
