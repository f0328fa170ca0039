#pragma once

// What one rank did, as it is stored, measured, compared and exported: the same records whether
// they come from the host executor, the simulator, a GPU or another profiler's file. Plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/step/collective_kind.h"
#include "core/trace/trace_sink.h"

namespace hocket {

inline constexpr std::int64_t kNoStep = -1;
inline constexpr std::int64_t kNoTask = -1;

/// One interval of work. Times are of the rank's own clock; 0 for a time that is not known.
struct TraceRecord {
  TraceKind kind = TraceKind::compute;
  std::optional<CollectiveKind> collective;  ///< of communication
  /// Stream (compute, copy), channel (communication) or host thread (range, call), from 0.
  std::int32_t lane = 0;
  std::uint32_t name = 0;  ///< index into RankTrace::names
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t step = kNoStep;
  std::int64_t task = kNoTask;          ///< which of the step's tasks, in the order of submission
  std::int64_t bytes = 0;               ///< of communication and copies
  std::int64_t sequence = kNoSequence;  ///< as TraceEvent's
  /// When the host handed the work over, and when all that it depends on was done.
  std::int64_t submitted_ns = 0, ready_ns = 0;

  bool operator==(const TraceRecord&) const = default;
};

/// The rank's clock and the host's realtime clock, read at once.
struct ClockSample {
  std::int64_t clock_ns = 0, realtime_ns = 0;

  bool operator==(const ClockSample&) const = default;
};

/// The first task of step `step` began at `begin_ns`: a new window begins. It ends where step
/// `step` + 1 begins, and is no window when that is not the next of the trace.
struct StepStart {
  std::int64_t step = 0, begin_ns = 0;

  bool operator==(const StepStart&) const = default;
};

struct RankTrace {
  std::int64_t rank = 0, ranks = 1;
  std::string host;    ///< its name, for people
  std::string source;  ///< "host", "simulator", "cupti", "kineto", "nsight"
  std::vector<std::string> names;
  std::vector<TraceRecord> records;    ///< by begin_ns
  std::vector<StepStart> step_starts;  ///< rising in both; the last one is no window
  std::vector<ClockSample> clock_samples;
  std::int64_t dropped = 0;      ///< records lost because a buffer was full
  std::int64_t quarantined = 0;  ///< records left out because they cannot be true

  bool operator==(const RankTrace&) const = default;
};

/// Whether a record can be true: end_ns is not before begin_ns, nothing is negative but kNoStep,
/// kNoTask and kNoSequence.
bool is_plausible(const TraceRecord& record);

/// Sorts the records by begin_ns and moves those that are not plausible, or name no name, to the
/// count of quarantined ones.
void put_in_order(RankTrace& trace);

}  // namespace hocket
