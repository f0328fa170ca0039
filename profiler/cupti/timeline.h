#pragma once

// Collects CUPTI's records over a span of steps and builds a rank's trace from them, with the same
// kinds of records as hosts and simulators, on the host's clock. A kernel belongs to the task whose
// TaskMark surrounded its launch; its submission time is the begin of that call. Not thread-safe.
//
// Kernels, copies and fills lie on lanes by stream, NCCL's kernels on channels by stream; calls,
// NVTX ranges, waits and CUPTI's own overhead on lanes by thread.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/rank_trace.h"
#include "core/trace/trace_builder.h"
#include "profiler/cupti/activity.h"
#include "profiler/cupti/clock_map.h"
#include "profiler/cupti/decoder.h"
#include "profiler/cupti/task_correlation.h"

namespace hocket {

/// The rank, steps and times of a trace.
struct TimelineSpan {
  std::int64_t rank = 0, ranks = 1;
  std::string host = {};
  std::int64_t first_step = 0, steps = 1;
  /// Time in which CUPTI recorded, on its clock.
  std::int64_t begin_cupti_ns = 0, end_cupti_ns = 0;
  /// Step begins on the host, on the host's clock; rising in both. If not empty, no other step
  /// begins.
  std::vector<StepStart> host_starts = {};
  TaskNumbers tasks = {};
};

struct CuptiTrace {
  /// Steps begin with their first work on the device if every step has marked work, else where the
  /// host began them. If there are windows, records outside all of them are left out.
  RankTrace trace;
  QuarantineCounts quarantined;                 ///< total also in the trace
  std::int64_t left_out = 0;                    ///< records outside all windows
  std::int64_t device_records = 0, marked = 0;  ///< kept records, and the part of them with a step
};

class CuptiTimeline {
 public:
  /// Keeps at most `capacity` records and counts the others as dropped.
  explicit CuptiTimeline(std::size_t capacity) : capacity_(capacity) {}

  /// Adds a buffer's records. Requires that the names in `buffer` are still valid in CUPTI. `api`
  /// supplies the names of calls.
  void add(const DecodedBuffer& buffer, const CuptiApi& api);

  CuptiTrace finish(const ClockMap& clock, const TimelineSpan& span) const;

 private:
  friend class TimelineAssembly;

  struct Kept {
    CuptiActivity activity;  // its name pointer is null; see `name`
    std::uint32_t name = 0;
  };

  std::uint32_t name_of(const CuptiActivity& activity, const CuptiApi& api);

  const std::size_t capacity_;
  Interner names_;
  std::unordered_map<std::string, std::uint32_t> kernel_names_;  // by symbol
  std::map<std::pair<ActivityType, std::uint32_t>, std::uint32_t> call_names_;
  std::vector<Kept> kept_;
  QuarantineCounts quarantined_;
  std::int64_t dropped_ = 0;
};

}  // namespace hocket
