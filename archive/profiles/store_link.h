#pragma once

// Links a job to a store without a daemon (client/link/daemon_link.h). It delivers requests
// for profiles only. Its own thread checks once a second, and reads requests only if the store has
// changed. An unusable store does not disturb the job. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "client/link/daemon_link.h"
#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Age above which a request is ignored: it was meant for an earlier job.
inline constexpr std::int64_t kMaxRequestAgeNs = 300'000'000'000;

struct StoreLinkOptions {
  /// Opens the store, again after each failure; called on the link's thread.
  std::function<Result<std::unique_ptr<Store>>()> open;
  std::string job_id, job_name = {};
  /// Called once per outage in which requests cannot be read, and for requests out of range; on the
  /// link's thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::int64_t interval_ns = 1'000'000'000;
  /// Starts the thread. May throw std::system_error.
  std::function<std::thread(std::function<void()>)> start_thread = [](auto work) {
    return std::thread(std::move(work));
  };
};

/// Opens a link. Returns null, with a warning, if its thread cannot be started: the job runs
/// without it.
std::unique_ptr<DaemonLink> open_store_link(StoreLinkOptions options);

/// Opens the store in the file `path`, for `open`: a call waits only briefly for another process.
Result<std::unique_ptr<Store>> open_for_requests(const std::string& path);

}  // namespace hocket
