#pragma once

// The waiting of a study's owner and workers between two looks at the store. Nobody tells them
// of changes, unless they are threads of one process (archive/workers/bell.h): a file has no
// notifications, and a trial takes long beside the time between looks.

#include <algorithm>
#include <cstdint>
#include <functional>

#include "tuner/trial/cancel.h"

namespace hocket {

/// Waits for so many nanoseconds, or until the caller is asked to stop.
using InterruptibleWait = std::function<void(std::int64_t ns)>;

/// Returns an InterruptibleWait that ends when `cancel`, which must outlive it, is cancelled.
InterruptibleWait wait_unless_cancelled(const CancelToken& cancel);

inline constexpr std::int64_t kShortestWaitNs = 20'000'000;
inline constexpr std::int64_t kLongestWaitNs = 1'000'000'000;

/// Returns how long to wait before the next look, if nothing has happened for `quiet_ns`: a
/// twentieth of that, so that waiting adds at most 5 % to what is waited for.
inline std::int64_t next_wait_ns(std::int64_t quiet_ns) {
  return std::clamp(quiet_ns / 20, kShortestWaitNs, kLongestWaitNs);
}

/// When those who wait for the store say so for the first time, and how often from then on.
inline constexpr std::int64_t kFirstSaidNs = 5'000'000'000, kSaidEveryNs = 60'000'000'000;

/// The time for which a worker without a trial goes on while the store cannot be reached. The
/// owner, and a worker that has measured a trial, go on as long as it takes.
inline constexpr std::int64_t kStorePatienceNs = 600'000'000'000;

}  // namespace hocket
