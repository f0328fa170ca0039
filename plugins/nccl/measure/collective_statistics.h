#pragma once

// Conclusions from the measured collectives of all ranks: how long the transfer takes, who waits,
// and who comes late. Pure functions; thread-safe.
//
// All ranks of a collective end at about the same time, when the last one has come and the data has
// moved. So the smallest time of a collective over the ranks is the transfer; what another rank's
// time has more than that, this rank has waited for others. The rank with the smallest time is the
// one that came last.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nccl/measure/measured_collective.h"
#include "plugins/nccl/tuning/collective_class.h"

namespace hocket::nccl::measure {

/// A way in which collectives really ran, and how many did.
struct WayThatRan {
  int algorithm = kUnknown, protocol = kUnknown, channels = 0;
  std::uint64_t count = 0;
  bool operator==(const WayThatRan&) const = default;
};

struct ClassStatistics {
  CollectiveClass of;
  /// Collectives, and the sum of their sizes.
  std::uint64_t count = 0, bytes = 0;
  /// Collectives with a time that counts, and its median and minimum; 0 without any.
  std::uint64_t timed = 0;
  std::int64_t median_ns = 0, min_ns = 0;
  /// Median over collectives and ranks but the last one to come; 0 unless ranks were merged.
  std::int64_t median_waiting_ns = 0;
  /// The most frequent first, then by algorithm, protocol and channels.
  std::vector<WayThatRan> ways;
  bool operator==(const ClassStatistics&) const = default;
};

/// Returns the statistics of one rank's collectives by rising class. Only complete ones have a time
/// that counts; those of an unknown function are left out.
std::vector<ClassStatistics> statistics_of(const std::vector<MeasuredCollective>& collectives);

struct RankCollectives {
  int rank = 0;
  std::vector<MeasuredCollective> collectives;
  bool operator==(const RankCollectives&) const = default;
};

/// A rank for which the others wait.
struct LateRank {
  int rank = 0;
  /// Collectives in which one rank came last, and those in which it was this rank.
  std::uint64_t collectives = 0, last_in = 0;
  /// Median of the others' waiting where this rank came last.
  std::int64_t median_waiting_ns = 0;
  bool operator==(const LateRank&) const = default;
};

struct MergedStatistics {
  /// Times are those of the transfer: the minimum over the ranks.
  std::vector<ClassStatistics> classes;
  std::optional<LateRank> late;
  /// Collectives of one number that the ranks describe differently. Their times are not used. NCCL
  /// counts a collective's number per function only while it reports events, so a rank whose window
  /// differs can shift its numbers.
  std::uint64_t contradictory = 0;
  /// Collectives whose complete time is not known of every rank. Their times are not used.
  std::uint64_t partly_known = 0;
};

/// Merges the ranks' collectives by function and number. `ranks` is the number of ranks of the
/// communicator: without collectives of all of them nothing is timed, since the missing one may be
/// the one that came last. Of several entries for one rank, and several collectives with one number
/// in a rank, the first counts.
///
/// A late rank is named if it came last in so many more than half of the collectives that chance
/// does not explain it (three standard deviations), and others' waiting is at least a twentieth of
/// the transfer. Otherwise times that differ by noise alone would always name somebody.
MergedStatistics merge(const std::vector<RankCollectives>& all, int ranks);

/// Returns the times in which the ranks waited for others, by iteration and rank. An iteration is
/// `iteration_ns`, above 0, of the timer of the first rank in `all`, in which collectives began
/// that are known of all `ranks`: records may be lost, and calls do not count collectives. Nothing
/// of fewer than two ranks.
std::vector<std::vector<std::int64_t>> waiting_of(const std::vector<RankCollectives>& all,
                                                  int ranks, std::int64_t iteration_ns);

/// Limit on the collectives that fit into one message.
inline constexpr std::size_t kMaxEncoded = 400;

/// Returns the bytes of a rank's collectives, of the last kMaxEncoded if there are more:
///
///   "HM" version=2 u8 | rank u32 | count u16 | count times: sequence u64, bytes u64, time_ns u64,
///   start_ns u64, function i8, algorithm i8, protocol i8, channels u8, timed_channels u8
///
/// in little-endian order. Requires values in the ranges that decoding allows.
std::string encode(const RankCollectives& collectives);

/// Returns nothing for bytes of another form, and for values out of range.
std::optional<RankCollectives> decode_collectives(std::string_view bytes);

}  // namespace hocket::nccl::measure
