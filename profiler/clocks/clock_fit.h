#pragma once

// Relates every rank's clock to rank 0's by an offset and a drift, from the end times of
// collectives, which end on all members of their group at about the same time
// (profiler/clocks/common_ends.h), and from a message exchange. Pure, except exchange_clocks().
//
// A collective that needs all ranks ends on no rank before it has begun on every rank. So each
// round of an exchange bounds the offset from both sides. The line through the ends is kept within
// those bounds; without ends, it goes through the middle of the tightest rounds (as NTP chooses its
// samples: Mills, RFC 5905, section 10).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/trace/rank_trace.h"

namespace hocket {

/// Time on rank 0 = t + offset_ns + drift · (t − reference_ns), for t on this rank.
struct ClockFit {
  std::int64_t reference_ns = 0;
  double offset_ns = 0;
  double drift = 0;
  /// Bound on the error of the offset anywhere in the trace. From ends: one that holds in 99 of 100
  /// cases. From an exchange alone: the largest error that its bounds allow. For "realtime": the
  /// typical difference of such clocks.
  double residual_ns = 0;
  std::int64_t samples = 0;  ///< number of rounds and collectives, or of clock readings
  /// One of "none", "own" (rank 0), "exchange", "collectives", "both", "realtime".
  std::string method = "none";

  /// Returns the time on the reference's clock minus `origin_ns`. An origin keeps the digits of
  /// times since 1970, which a double holds only to 256 ns.
  double to_reference_ns(std::int64_t clock_ns, std::int64_t origin_ns = 0) const;

  bool operator==(const ClockFit&) const = default;
};

nlohmann::json to_json(const ClockFit& fit);
Result<ClockFit> clock_fit_from_json(const nlohmann::json& document);

/// One round of the exchange as a rank saw it.
struct ClockRound {
  std::int64_t begin_ns = 0, end_ns = 0;

  bool operator==(const ClockRound&) const = default;
};

/// Runs `rounds` tiny all-reduces, whose indices in `collective` begin at `first_index`, and shares
/// all ranks' rounds with all: result[rank][round]. Requires that every rank calls it at the same
/// point and that nothing else is in flight on the collective.
Result<std::vector<std::vector<ClockRound>>> exchange_clocks(Collective& collective,
                                                             const Clock& clock, int rounds,
                                                             std::uint64_t first_index);

/// Returns the index of the trace whose clock is the reference: rank 0's, or the lowest rank's if
/// rank 0 is missing. Requires a trace.
std::size_t reference_index(std::span<const RankTrace> traces);

/// Returns one fit for each trace, in their order; O(n log n) in the records. `rounds` are by rank,
/// as exchange_clocks() returns them, and may be empty or of unequal length. Without rounds and
/// common collectives, the hosts' realtime clocks relate the ranks. Traces of one host and source
/// whose clock samples agree share a clock. A rank without any evidence gets method "none". Clocks
/// that jump show as a large residual.
std::vector<ClockFit> fit_clocks(std::span<const RankTrace> traces,
                                 std::span<const std::vector<ClockRound>> rounds);

}  // namespace hocket
