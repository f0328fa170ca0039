#pragma once

// Says who waited for whom in a job's collectives and messages, and numbers the arrows that show it
// in a picture of all ranks: from the part of the rank that arrived last to those of the others,
// and from a send to its receive.
//
// A receive that begins before its send waits for it. A send may be done long before its receive
// begins, since libraries copy what is sent; that it waited is never said. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

/// One rank's part of a collective among the others.
struct PartFlows {
  /// Arrows that begin at this part: `outgoing` numbers from `first_outgoing` on.
  std::uint64_t first_outgoing = 0, outgoing = 0;
  std::uint64_t incoming = 0;  ///< the arrow that ends at this part; 0: none
  /// Arrival after the first rank's, the wait for the last one, and the error that the clocks leave
  /// in both. Absent unless the parts of all ranks are there and their clocks are related; a send
  /// has no wait.
  std::optional<std::int64_t> late_ns, wait_ns, clock_error_ns;
  /// The rank that arrived last, of a receive the sender if that came later; absent also if the
  /// clocks do not tell it from the second last.
  std::optional<std::int64_t> waited_for;

  bool operator==(const PartFlows&) const = default;
};

/// Most arrows in a picture: more make viewers slow.
inline constexpr std::size_t kMostFlows = 200'000;

class CollectiveFlows {
 public:
  /// Numbers arrows from 1. If there are more than `most`, the collectives with the largest
  /// differences of arrival keep theirs. Parts of a rank whose clock is related to no other have no
  /// arrows. `fits` are in the order of `traces`, which must outlive this object and be in order.
  CollectiveFlows(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
                  std::size_t most = kMostFlows);

  /// Returns what is known of record `index` of trace `trace`.
  PartFlows of(std::size_t trace, std::size_t index) const;

  /// Messages for people: what has no arrows, and why.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::vector<PartFlows>> parts_;  ///< by trace and record; empty without collectives
  std::vector<std::string> notes_;
};

}  // namespace hocket
