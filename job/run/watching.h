#pragma once

// Connects a job that is tuned while it trains to the daemon named by HOCKET_DAEMON. For the thread
// of main().

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/link/daemon_access.h"
#include "client/link/daemon_link.h"
#include "client/start/client.h"
#include "core/base/result.h"
#include "core/protocol/job_report.h"
#include "core/protocol/runnable_values.h"
#include "core/step/step_description.h"

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

struct JobKind {
  int ranks_per_host = 1;
  int servers = 0;  ///< parameter servers
  bool is_updated_by_servers = false;
  bool is_placed = false;   ///< on a device of limited memory, so that steps are not partitioned
  bool is_watched = false;  ///< tuned while it trains
  bool has_step = false;    ///< knows its step, without which it does not change to order=static
};

/// Returns what such a job can run.
RunnableValues what_it_can_run(const JobKind& kind);

/// Opens rank 0's link, which connects in the background. `report` describes the job and its
/// configuration; `explore` is the exploration budget, a share of the job's time. Without a usable
/// daemon or token it warns, and the link is null.
Watch watch_daemon(const RunReport& report, const FetchedConfig& fetched, double explore,
                   const std::optional<StepDescription>& step, RunnableValues can_run,
                   const std::function<void(const std::string&)>& warn);

}  // namespace hocket
