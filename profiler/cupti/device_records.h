#pragma once

// Merges what CUPTI recorded of a device into the host's profile of the same steps. Pure.
//
// - Kernels, copies and fills replace the host's record of their task and take its ready_ns. A task
//   without work on the device keeps the host's record, on a lane of its own; without length if the
//   host told only the order (TraceDetail::order).
// - If CUPTI tied no records to tasks, as at L0, all computation of the host is removed, and no
//   task has times.
// - Communication remains the host's, which knows its bytes and its order on all ranks. The kernels
//   of a task's collective supply the times if there is one for each part. If the host has no
//   communication, kernels with NCCL's names count as the communication.
// - Calls, NVTX ranges and waits are added, on threads numbered after the host's.
// - Steps begin where CUPTI saw them begin, if it did and dropped no records.

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/cupti/activity.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// The recording of one span of a CuptiSession.
struct CuptiProfile {
  RankTrace trace;
  QuarantineCounts quarantined;
  std::int64_t device_records = 0, marked = 0;  ///< as in CuptiTrace
  /// Requests refused because no buffer was free, after which CUPTI drops records.
  std::int64_t refused_buffers = 0;
  std::int64_t late_buffers = 0;  ///< buffers that came back outside a span; left out
  /// Buffers that CUPTI has not given back; their records are missing.
  std::int64_t missing_buffers = 0;
  std::int64_t clock_jumps = 0;  ///< times that the realtime clock was set
  std::string warning;           ///< errors during the span; "" without errors
};

/// Merges `device` into `host`. If `device` has no records or `host` no windows, `host` stays
/// unchanged except for counts and notes.
void add_device_records(CuptiProfile device, ProfileResult& host);

/// Returns remarks on the quality of `profile`; none if it is complete.
std::vector<std::string> notes_of(const CuptiProfile& profile);

}  // namespace hocket
