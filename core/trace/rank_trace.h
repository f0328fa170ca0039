#pragma once

// Records of one rank's activity, as stored, measured, compared and exported. Their form does not
// depend on their source: host executor, simulator, GPU or another profiler's file. Plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/step/collective_kind.h"
#include "core/trace/trace_sink.h"

namespace hocket {

inline constexpr std::int64_t kNoStep = -1;
inline constexpr std::int64_t kNoTask = -1;
inline constexpr std::int32_t kAllRanks = -1;

/// One interval of work. Times are from the rank's clock; an unknown time is 0.
struct TraceRecord {
  TraceKind kind = TraceKind::compute;
  /// Kind of a communication's collective, if known.
  std::optional<CollectiveKind> collective;
  /// Stream (compute, copy), channel (communication) or host thread (range, call), from 0.
  std::int32_t lane = 0;
  std::uint32_t name = 0;  ///< index into RankTrace::names
  /// Ranks that a communication is between: index into RankTrace::groups, or kAllRanks, also where
  /// nothing says which ranks they are.
  std::int32_t group = kAllRanks;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t step = kNoStep;
  /// Index of the task in the step, in order of submission.
  std::int64_t task = kNoTask;
  /// Bytes of communication and copies.
  std::int64_t bytes = 0;
  /// Number of a communication: the same on all ranks of its group for the same part, and unique in
  /// a trace within the group.
  std::int64_t sequence = kNoSequence;
  /// Times at which the host submitted the work, and at which all its dependencies were done.
  std::int64_t submitted_ns = 0, ready_ns = 0;

  bool operator==(const TraceRecord&) const = default;
};

/// Ranks that communicate with one another.
struct TraceGroup {
  std::string name;                 ///< the same in the traces of all members
  std::vector<std::int64_t> ranks;  ///< ascending; of messages the sender first; empty: unknown

  bool operator==(const TraceGroup&) const = default;
};

/// The rank's clock and the host's realtime clock, read at the same moment.
struct ClockSample {
  std::int64_t clock_ns = 0, realtime_ns = 0;

  bool operator==(const ClockSample&) const = default;
};

/// Start of an iteration: the first task of step `step` began at `begin_ns`. The iteration ends at
/// the next StepStart of the trace, which must be that of `step` + 1; otherwise it does not count
/// as one.
struct StepStart {
  std::int64_t step = 0, begin_ns = 0;

  bool operator==(const StepStart&) const = default;
};

struct RankTrace {
  std::int64_t rank = 0, ranks = 1;
  /// Name of the host, for people.
  std::string host;
  std::string source;  ///< "host", "simulator", "cupti", "kineto", "nsight"
  std::vector<std::string> names;
  std::vector<TraceGroup> groups;
  /// Sorted by begin_ns.
  std::vector<TraceRecord> records;
  /// Both fields increase; the last entry only ends the iteration before it.
  std::vector<StepStart> step_starts;
  std::vector<ClockSample> clock_samples;
  /// Records lost because a buffer was full.
  std::int64_t dropped = 0;
  /// Records left out because they are implausible.
  std::int64_t quarantined = 0;
  /// Records that were cut because they end after the next one of their stream has begun, which
  /// cannot be true.
  std::int64_t shortened = 0;

  bool operator==(const RankTrace&) const = default;
};

/// Returns the share of work of the device that was lost, left out or cut: dropped, quarantined and
/// shortened records, against these and all computation, communication and copies.
double doubtful_share(const RankTrace& trace);

/// Returns whether a record is work: computation, communication or a copy, and no range or call.
inline bool is_activity(const TraceRecord& record) {
  return record.kind == TraceKind::compute || record.kind == TraceKind::communication ||
         record.kind == TraceKind::copy;
}

/// Returns whether a plausible record of `trace` is work. Without any, nothing is known of when the
/// rank was idle.
bool has_activity(const RankTrace& trace);

/// Returns whether a record is plausible: end_ns is not before begin_ns, and nothing is negative
/// except kNoStep, kNoTask, kNoSequence and kAllRanks.
bool is_plausible(const TraceRecord& record);

/// Sorts the records by begin_ns. Removes records that are implausible, whose name is not in
/// `names` or whose group is not in `groups`, and adds their number to `quarantined`.
void put_in_order(RankTrace& trace);

}  // namespace hocket
