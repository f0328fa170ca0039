#pragma once

// The link to a daemon on the network (tuner/client/link/daemon_link.h). It registers the job,
// watches for messages and sends reports on two threads of its own, and connects again, later and
// later, for as long as it lives. A daemon that is away costs the job nothing.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/protocol/job_message.h"
#include "tuner/client/link/backoff.h"
#include "tuner/client/link/daemon_access.h"
#include "tuner/client/link/daemon_link.h"

namespace hocket {

struct DaemonLinkOptions {
  DaemonAccess daemon;
  JobDescription job = {};
  /// Told what is worth a line to the user, once for each kind and each outage; on threads of the
  /// link, when it is opened and when it ends.
  std::function<void(const std::string&)> warn = {};
  BackoffLimits backoff = {};
  std::uint64_t seed = 0;  ///< of the back-off's jitter; jobs should differ
  /// Reports are sent this far apart, outcomes at once.
  std::int64_t report_interval_ns = 1'000'000'000;
  std::int64_t request_timeout_ns = 2'000'000'000;
  /// Three pings of the daemon: a connection that is silent for longer is dead.
  std::int64_t silence_limit_ns = 45'000'000'000;
  /// What the destructor may take to send the last outcomes.
  std::int64_t flush_timeout_ns = 500'000'000;
  /// May throw std::system_error.
  std::function<std::thread(std::function<void()>)> start_thread = [](auto work) {
    return std::thread(std::move(work));
  };
};

/// Null, with a warning, when its threads cannot be started: the job goes on without.
std::unique_ptr<DaemonLink> open_daemon_link(DaemonLinkOptions options);

}  // namespace hocket
