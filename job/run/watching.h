#pragma once

// Links of a running job: to the daemon that HOCKET_DAEMON names, which tunes it while it trains,
// or without a daemon to a store. For rank 0's thread of main().

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/link/daemon_link.h"
#include "client/start/client.h"
#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/protocol/job_report.h"
#include "core/protocol/runnable_values.h"

namespace hocket {

/// Checks that HOCKET_DAEMON names a daemon. Returns invalid_argument when it is unset or
/// malformed, which every rank can detect for itself.
Result<void> check_daemon_to_watch();

/// Returns this host's name, for display.
std::string host_name();

struct JobWatch {
  std::string job;  ///< the job's id, which begins with the program's name
  std::unique_ptr<DaemonLink> link;
};

/// Returns the link of a job without a daemon: requests for profiles from the store `store_path`.
JobWatch watch_store(const std::string& program, const RunReport& report,
                     const std::string& store_path,
                     const std::function<void(const std::string&)>& warn);

struct WatchOptions {
  std::string program = "job";
  double explore = 0;  ///< exploration budget, a share of the job's time
  std::optional<StepDescription> step = {};
  RunnableValues can_run = {};
};

/// Opens rank 0's link, which connects in the background. `report` describes the job and its
/// configuration. Without a usable daemon or token it warns, and the link is null.
JobWatch watch_daemon(WatchOptions options, const RunReport& report, const FetchedConfig& fetched,
                      const std::function<void(const std::string&)>& warn);

}  // namespace hocket
