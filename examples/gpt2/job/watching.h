#pragma once

// The job's link to the daemon that HOCKET_DAEMON names, for a job that is tuned while it trains.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/protocol/job_report.h"
#include "core/step/step_description.h"
#include "tuner/client/link/daemon_access.h"
#include "tuner/client/link/daemon_link.h"
#include "tuner/client/start/client.h"

namespace hocket {

/// The daemon that HOCKET_DAEMON names. invalid_argument when it is unset or wrong, which every
/// rank can see for itself.
Result<DaemonAccess> daemon_to_watch();

/// This host's name, for people.
std::string host_name();

struct Watch {
  std::string job;  ///< the id under which the daemon knows it
  std::unique_ptr<DaemonLink> link;
};

/// The link of a job that no daemon tunes: requests for profiles out of the store `store_path`.
Watch watch_store(const RunReport& report, const std::string& store_path,
                  const std::function<void(const std::string&)>& warn);

/// Opens rank 0's link; it connects in the background. `report` says what the job is and runs with,
/// `explore` which share of its time trying may cost. invalid_argument when HOCKET_DAEMON is unset
/// or wrong.
Result<Watch> watch_daemon(const RunReport& report, const FetchedConfig& fetched, double explore,
                           const std::optional<StepDescription>& step,
                           const std::function<void(const std::string&)>& warn);

}  // namespace hocket
