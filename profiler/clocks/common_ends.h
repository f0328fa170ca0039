#pragma once

// Relates the clocks of several ranks by collectives that end on all their members at about the
// same time. Pure.
//
// The model: rank r reads the end of collective c at e_rc, and e_rc + offset_r + drift_r · x_rc =
// T_c + noise, where T_c is the time of the end on the reference's clock and x_rc the time since
// the middle of the rank's ends. Ranks that share no group with the reference are related to it by
// ranks that do. T is the median over the members and a rank's line that of Theil and Sen (Sen,
// JASA 1968), in turn until they agree, so neither a rank that ends late nor some late ends move
// the result. A drift that few or close ends leave open is taken to be small.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/paired_collectives.h"
#include "core/trace/rank_trace.h"
#include "profiler/clocks/robust_line.h"

namespace hocket {

/// Largest drift between two clocks that NTP steers (RFC 5905, MAXFREQ).
inline constexpr double kMostDrift = 500e-6;

/// Relation of one rank's clock: the offset to add at `time_ns` + x is offset_ns + line.at(x).
struct EndsFit {
  std::int64_t samples = 0;  ///< number of ends; 0: no relation to the reference is known
  std::int64_t time_ns = 0, offset_ns = 0;
  FittedLine line;
  std::vector<LinePoint> points;  ///< offsets that single ends imply, minus offset_ns
  /// Standard deviation of the slope, for a search beside it.
  double slope_error = 0;
  /// Bound on the error of the offset anywhere in the rank's trace that holds in 99 of 100 cases: a
  /// confidence interval from the scatter of the ends, and what causality allows if that is less.
  /// Contains the scatter of a single end, because ends of one rank may always be late. Larger
  /// where the ends contradict causality, as they do where records are paired wrongly.
  double error_ns = 0;
};

/// Returns a fit for each trace; that of `reference` is the identity. Uses at most some hundred
/// collectives of each group.
std::vector<EndsFit> fit_common_ends(std::span<const RankTrace> traces,
                                     const PairedCollectives& paired, std::size_t reference);

/// Returns a − b, saturated: times from files may be any numbers.
std::int64_t saturated_difference(std::int64_t a, std::int64_t b);

}  // namespace hocket
