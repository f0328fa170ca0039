#pragma once

// Connects a job that is tuned while it trains to the daemon named by HOCKET_DAEMON. For the thread
// of main().

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/protocol/job_report.h"
#include "core/protocol/runnable_values.h"
#include "core/step/step_description.h"
#include "tuner/client/link/daemon_access.h"
#include "tuner/client/link/daemon_link.h"
#include "tuner/client/start/client.h"

namespace hocket {

/// Checks that HOCKET_DAEMON names a daemon. Returns invalid_argument when it is unset or
/// malformed, which every rank can detect for itself.
Result<void> check_daemon_to_watch();

/// Returns this host's name, for display.
std::string host_name();

struct Watch {
  std::string job;  ///< the job's id at the daemon
  std::unique_ptr<DaemonLink> link;
};

/// Returns the link of a job without a daemon: requests for profiles from the store `store_path`.
Watch watch_store(const RunReport& report, const std::string& store_path,
                  const std::function<void(const std::string&)>& warn);

/// Returns what a job with so many ranks on each host can run. `is_watched`: it is tuned while it
/// trains, and then changes to order=static only with `has_step`, a description of its step.
RunnableValues what_it_can_run(int ranks_per_host, bool is_watched, bool has_step);

/// Opens rank 0's link, which connects in the background. `report` describes the job and its
/// configuration; `explore` is the exploration budget, a share of the job's time. Without a usable
/// daemon or token it warns, and the link is null.
Watch watch_daemon(const RunReport& report, const FetchedConfig& fetched, double explore,
                   const std::optional<StepDescription>& step, RunnableValues can_run,
                   const std::function<void(const std::string&)>& warn);

}  // namespace hocket
