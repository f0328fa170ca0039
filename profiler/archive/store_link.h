#pragma once

// A job's link to a store in place of a daemon (tuner/client/link/daemon_link.h): it brings
// requests for profiles, and nothing else. A thread of its own asks once a second, and not at all
// while the store has not changed. A store that cannot be used costs the job nothing. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/base/result.h"
#include "store/store.h"
#include "tuner/client/link/daemon_link.h"

namespace hocket {

/// A request that nobody has taken for so long was for a job of before.
inline constexpr std::int64_t kMaxRequestAgeNs = 300'000'000'000;

struct StoreLinkOptions {
  /// Opens the store, again after each failure; on the link's thread.
  std::function<Result<std::unique_ptr<Store>>()> open;
  std::string job_id, job_name = {};
  /// Told once an outage that requests cannot be read, and of those that are out of range; on the
  /// link's thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::int64_t interval_ns = 1'000'000'000;
  /// May throw std::system_error.
  std::function<std::thread(std::function<void()>)> start_thread = [](auto work) {
    return std::thread(std::move(work));
  };
};

/// Null, with a warning, when its thread cannot be started: the job goes on without.
std::unique_ptr<DaemonLink> open_store_link(StoreLinkOptions options);

/// The store in the file `path`, for `open`: a call waits for another process a moment only.
Result<std::unique_ptr<Store>> open_for_requests(const std::string& path);

}  // namespace hocket
