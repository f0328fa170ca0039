#pragma once

// Collects CUPTI's records over a span of steps and makes a rank's trace of them: the records that
// hosts and simulators have, on the host's clock. Kernels are of the task around whose launch a
// TaskMark stood, and were submitted when that call began. Not thread-safe.
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

/// What the trace is of.
struct TimelineSpan {
  std::int64_t rank = 0, ranks = 1;
  std::string host = {};
  std::int64_t first_step = 0, steps = 1;
  /// When CUPTI recorded, by its clock.
  std::int64_t begin_cupti_ns = 0, end_cupti_ns = 0;
  /// When the host began steps, by the host's clock; rising in both. If there are any, no other
  /// step begins.
  std::vector<StepStart> host_starts = {};
  TaskNumbers tasks = {};
};

struct CuptiTrace {
  /// Steps begin with their first work on the device where every step has some that is marked, or
  /// else where the host began them. Records outside of all windows are left out, if there are any
  /// windows.
  RankTrace trace;
  QuarantineCounts quarantined;                 ///< the trace has their total
  std::int64_t left_out = 0;                    ///< outside of all windows
  std::int64_t device_records = 0, marked = 0;  ///< of those kept, and how many have a step
};

class CuptiTimeline {
 public:
  /// Keeps `capacity` records at most, and counts the others as dropped.
  explicit CuptiTimeline(std::size_t capacity) : capacity_(capacity) {}

  /// The names in `buffer` must still be CUPTI's. `api` tells the names of calls.
  void add(const DecodedBuffer& buffer, const CuptiApi& api);

  CuptiTrace finish(const ClockMap& clock, const TimelineSpan& span) const;

 private:
  friend class TimelineAssembly;

  struct Kept {
    CuptiActivity activity;  // its name is null
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
