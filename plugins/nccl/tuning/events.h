#pragma once

// The events of a communicator's collectives that NCCL's profiler reports while a setting is in
// force.

#include <cstdint>

namespace hocket::nccl {

enum class Events : std::uint8_t {
  none,
  /// Launches are reported, but not counted yet. A group's collectives that were enqueued before
  /// the change may be reported on some ranks alone, since the ranks of other communicators of the
  /// process ask at other times. So launches are counted from a later gate on.
  asked,
  counted,  ///< launches are counted, for the digests of the gates
  timed,    ///< likewise, and the channels' times are measured
};

}  // namespace hocket::nccl
