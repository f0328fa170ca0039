#pragma once

// Runs a call that may never return, such as an access to an unreachable file system, with a time
// limit. After the limit the call continues in a thread of its own, which is abandoned and may
// still run while the process exits: the call must own everything it uses, or use only objects that
// are never destroyed, and must not throw. Thread-safe.

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/result.h"

namespace hocket {

/// Returns the Result of `call()`; timed_out "`what` did not answer within … ms"; unavailable when
/// no thread can be started. `timeout_ns` is at most a day.
template <class Call>
auto call_within(std::int64_t timeout_ns, const std::string& what, Call call) -> decltype(call()) {
  std::packaged_task<decltype(call())()> task(std::move(call));
  auto answer = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error& e) {
    return failure(ErrorCode::unavailable, what + ": cannot start a thread: " + e.what());
  }
  if (answer.wait_for(std::chrono::nanoseconds(timeout_ns)) == std::future_status::ready)
    return answer.get();
  return failure(ErrorCode::timed_out,
                 what + " did not answer within " + std::to_string(timeout_ns / 1'000'000) + " ms");
}

}  // namespace hocket
