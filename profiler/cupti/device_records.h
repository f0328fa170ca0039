#pragma once

// What CUPTI recorded of a device goes into the profile that the host made of the same steps. Pure.
//
// - Kernels, copies and fills take the place of the host's record of their task, and get its
//   ready_ns. A task of which nothing ran on the device keeps its own, on a lane of its own.
// - Where CUPTI tied nothing to tasks, as at L0, all computation of the host makes way, and no
//   times of tasks are known.
// - Communication stays the host's, which knows its bytes and its order on all ranks. The kernels
//   of a task's collective give their times, where there is one for each part. Without any of the
//   host's, kernels by NCCL's names are the communication.
// - Calls, NVTX ranges and waits are added, on threads behind the host's.
// - Steps begin where CUPTI saw them begin, if it did and dropped nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/cupti/activity.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// The records of a span of a CuptiSession, and the counts of what is missing.
struct CuptiProfile {
  RankTrace trace;
  QuarantineCounts quarantined;
  std::int64_t device_records = 0, marked = 0;  ///< as CuptiTrace's
  std::int64_t refused_buffers = 0;  ///< CUPTI asked for one at the cap, upon which it drops
  std::int64_t late_buffers = 0;     ///< came back while no span was under way; left out
  std::int64_t missing_buffers = 0;  ///< CUPTI has not given back: their records are not here
  std::int64_t clock_jumps = 0;      ///< how often the realtime clock was set
  std::string warning;               ///< what failed on the way; "" when nothing did
};

/// Where `device` has no records, or `host` no windows, `host` stays as it is, but for counts and
/// notes.
void add_device_records(CuptiProfile device, ProfileResult& host);

/// What is to be known of the quality of `profile`; none when all is well.
std::vector<std::string> notes_of(const CuptiProfile& profile);

}  // namespace hocket
