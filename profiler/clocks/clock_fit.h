#pragma once

// From every rank's clock to rank 0's: an offset and a drift, fitted from a message exchange and
// refined on the end times of collectives, which end on all ranks at about the same time. Pure,
// but for exchange_clocks().
//
// What an exchange tells: a collective that needs all ranks ends on no rank before it has begun on
// every rank. So each round bounds the offset from both sides; the fit goes through the middle of
// the tightest rounds (as NTP chooses its samples: Mills, RFC 5905, section 10). The refinement is
// a straight line through the differences of end times (Theil and Sen: Sen, JASA 1968), kept within
// those bounds.

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
  /// Median distance of what it was fitted to; of a fit from bounds alone, by how much the offset
  /// can be another within them, anywhere in the trace; of "realtime" what such clocks are apart.
  double residual_ns = 0;
  std::int64_t samples = 0;  ///< rounds and collectives, or readings of clocks
  /// "none", "own" (rank 0), "exchange", "collectives", "both", "realtime"
  std::string method = "none";

  /// Less `origin_ns`, so that a time since 1970, which a double has to 256 ns, can keep its
  /// digits.
  double to_reference_ns(std::int64_t clock_ns, std::int64_t origin_ns = 0) const;

  bool operator==(const ClockFit&) const = default;
};

nlohmann::json to_json(const ClockFit& fit);
Result<ClockFit> clock_fit_from_json(const nlohmann::json& document);

/// One round as a rank saw it.
struct ClockRound {
  std::int64_t begin_ns = 0, end_ns = 0;

  bool operator==(const ClockRound&) const = default;
};

/// Runs `rounds` tiny all-reduces, whose indices in `collective` begin at `first_index`, and tells
/// all ranks' rounds to all: result[rank][round]. Every rank calls it at the same point, with
/// nothing else under way on the collective.
Result<std::vector<std::vector<ClockRound>>> exchange_clocks(Collective& collective,
                                                             const Clock& clock, int rounds,
                                                             std::uint64_t first_index);

/// The trace whose clock is the reference: rank 0's, or that of the lowest rank there is. Requires
/// a trace.
std::size_t reference_index(std::span<const RankTrace> traces);

/// One fit for each trace, in their order; O(n log n) in the records. `rounds` are by rank, as
/// exchange_clocks() has them, and may be empty or of unequal length. Where there are neither
/// rounds nor common collectives, the realtime clocks of the hosts relate ranks; traces of one host
/// and source whose clock samples agree share a clock. A rank for which nothing is known has method
/// "none". Clocks that jump show as a large residual.
std::vector<ClockFit> fit_clocks(std::span<const RankTrace> traces,
                                 std::span<const std::vector<ClockRound>> rounds);

}  // namespace hocket
