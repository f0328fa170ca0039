#pragma once

// One collective as the GPU's timers saw it. A plain value.

#include <cstdint>

namespace hocket::nccl::measure {

/// A number for a name of NCCL's that is not known here.
inline constexpr int kUnknown = -1;

struct MeasuredCollective {
  /// NCCL's number of the collective, counted per communicator and function; equal on all ranks.
  std::uint64_t sequence = 0;
  /// As a tuner sees it: for all-gather and reduce-scatter the size of the whole buffer.
  std::uint64_t bytes = 0;
  /// From the first channel's start to the last one's stop; at least 0.
  std::int64_t time_ns = 0;
  /// The first channel's start, by the global timer of the rank's GPU; at least 0.
  std::int64_t start_ns = 0;
  /// NCCL's numbers, or kUnknown.
  int function = kUnknown, algorithm = kUnknown, protocol = kUnknown;
  /// Channels that NCCL announced and those that were timed. If fewer were timed, the time may be
  /// too short.
  int channels = 0, timed_channels = 0;

  bool is_complete() const { return channels > 0 && timed_channels == channels; }
  bool operator==(const MeasuredCollective&) const = default;
};

}  // namespace hocket::nccl::measure
