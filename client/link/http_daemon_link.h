#pragma once

// DaemonLink over the network (client/link/daemon_link.h). Registers the job, receives
// messages and sends reports on two threads of its own, and reconnects with increasing back-off for
// as long as it lives. An unreachable daemon does not slow down the job.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "client/link/backoff.h"
#include "client/link/daemon_access.h"
#include "client/link/daemon_link.h"
#include "core/protocol/job_message.h"

namespace hocket {

struct DaemonLinkOptions {
  DaemonAccess daemon;
  JobDescription job = {};
  /// Called with each warning for the user, once per kind and outage. Runs on the link's threads,
  /// and on the caller's thread when the link is opened or destroyed.
  std::function<void(const std::string&)> warn = {};
  BackoffLimits backoff = {};
  std::uint64_t seed = 0;  ///< seed of the back-off's jitter; must differ between jobs
  /// Minimum time between reports. Reports with outcomes are sent immediately.
  std::int64_t report_interval_ns = 1'000'000'000;
  std::int64_t request_timeout_ns = 2'000'000'000;
  /// Three ping intervals of the daemon: a connection that is silent for longer is considered dead.
  std::int64_t silence_limit_ns = 45'000'000'000;
  /// Maximum time that the destructor spends on sending the last outcomes and the job's end.
  std::int64_t flush_timeout_ns = 500'000'000;
  /// May throw std::system_error.
  std::function<std::thread(std::function<void()>)> start_thread = [](auto work) {
    return std::thread(std::move(work));
  };
};

/// Returns null, with a warning, if the threads cannot be started; the job then runs without a
/// link.
std::unique_ptr<DaemonLink> open_daemon_link(DaemonLinkOptions options);

}  // namespace hocket
