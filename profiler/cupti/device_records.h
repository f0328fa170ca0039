#pragma once

// What CUPTI recorded of a device goes into the profile that the host made of the same steps. Pure.
//
// - Kernels, copies and fills take the place of the host's record of their task, and get its
//   ready_ns. A task of which nothing ran on the device keeps its own, on a lane of its own.
// - Where CUPTI tied nothing to tasks, as at L0, all computation of the host makes way, and of
// tasks
//   no times are known.
// - Communication stays the host's, which knows its bytes and its order on all ranks. The kernels
// of
//   a task's collective give their times, where there is one for each part. Without any of the
//   host's, kernels by NCCL's names are the communication.
// - Calls, NVTX ranges and waits are added, on threads behind the host's.
// - Steps begin where CUPTI saw them begin, if it did and dropped nothing.

#include <string>
#include <vector>

#include "profiler/cupti/cupti_session.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// Where `device` has no records, or `host` no windows, `host` stays as it is, but for counts and
/// notes.
void add_device_records(CuptiProfile device, ProfileResult& host);

/// What is to be known of the quality of `profile`; none when all is well.
std::vector<std::string> notes_of(const CuptiProfile& profile);

}  // namespace hocket
