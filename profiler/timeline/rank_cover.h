#pragma once

// Times for which a rank computes, communicates and copies within any range of time, in O(log n).
// Const functions may be called by any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/intervals.h"
#include "profiler/timeline/lane_records.h"

namespace hocket {

/// Returns the parts of union `a` that are not in union `b`.
std::vector<Interval> difference_of(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// Union of a rank's records of one kind.
class KindCover {
 public:
  KindCover() = default;
  /// If all records of the kind are in one lane, `lane`, the cover keeps no copy of them.
  KindCover(std::vector<Interval> of_kind, std::optional<std::uint32_t> lane);

  /// Returns the covered time in `window`. `records` are those of all lanes.
  std::int64_t inside_ns(const Interval& window, std::span<const LaneRecords> records) const;
  std::size_t bytes() const { return bytes_; }

 private:
  std::optional<std::uint32_t> lane_;
  std::optional<Coverage> coverage_;
  std::size_t bytes_ = 0;
};

struct RankCover {
  KindCover compute, communication, exposed, copy;
  /// Copies that overlap with neither computation nor communication.
  KindCover other;
  /// The rank's own lanes, which are consecutive.
  std::uint32_t first_lane = 0, last_lane = 0;

  std::size_t bytes() const {
    return compute.bytes() + communication.bytes() + exposed.bytes() + copy.bytes() + other.bytes();
  }
};

}  // namespace hocket
