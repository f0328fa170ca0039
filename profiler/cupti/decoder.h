#pragma once

// From the bytes of one of CUPTI's buffers to records. Pure: it reads the bytes and the layout that
// CUPTI gives them, and follows no pointer in them.

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/cupti/activity.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

struct DecodedBuffer {
  std::vector<CuptiActivity> activities;  ///< in the buffer's order
  QuarantineCounts quarantined;
  std::int64_t ignored = 0;  ///< records of kinds that say nothing about work

  /// Every record is in one of the three.
  std::int64_t records() const {
    return static_cast<std::int64_t>(activities.size()) + quarantined.total() + ignored;
  }
};

/// Any bytes are allowed, at any alignment.
DecodedBuffer decode_buffer(const CuptiApi& api, std::span<const std::uint8_t> bytes);

}  // namespace hocket
