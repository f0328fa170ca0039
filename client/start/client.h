#pragma once

// Client library of a job: fetches its configuration at start-up and writes its report at the end.
// A problem never fails or delays the job: it becomes a warning and the job runs with the default.
// The functions hold no state; an IterationLog belongs to one thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/link/environment.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/files/descriptor.h"
#include "core/protocol/config_source.h"
#include "core/protocol/job_report.h"
#include "core/protocol/runnable_values.h"

namespace hocket {

/// Configuration to train with, and its source.
struct FetchedConfig {
  ScheduleConfig config;
  /// "trial" (HOCKET_CONFIG, set by a study), "daemon" (the daemon that HOCKET_DAEMON names), "last
  /// good" (the last answer of a daemon that is now unreachable), "store" (promoted for this
  /// topology and workload), "site" (shipped to all users for them), or "default".
  std::string source = "default";
  /// Explanation for the user: the study it comes from, or the reason for the default. This, the
  /// source and the warnings are plain lines (core/base/plain_text.h), whoever has written them.
  std::string detail = {};
  std::vector<std::string> warnings = {};
  std::int64_t version = 0;  ///< version in the daemon; 0 if it is not from the daemon
  std::string key =
      {};  ///< the job's key (core/protocol/config_key.h); identifies it to the daemon
  /// Outcome of the ended search of the key: "the search for its key has ended (tried 5, kept 2,
  /// on 2026-11-20)". Empty while it goes on, if there was none, or on a rank above 0.
  std::string search = {};
};

/// Returns the configuration to train with, from the first source that has one: HOCKET_CONFIG; the
/// daemon if HOCKET_DAEMON is set, otherwise `source` (may be null), asked for at most two seconds;
/// the daemon's last answer; the site's file (client/start/site_configs.h) where these know nothing
/// of the job's key; the default. Only rank 0 asks; it sends the answer to the other ranks,
/// so all ranks hold the same configuration. Requires that every rank calls it. Returns
/// invalid_argument on every rank if rank 0's HOCKET_CONFIG is invalid, because a study must not
/// measure a different configuration than the one it set. Otherwise fails only if a rank cannot
/// communicate with rank 0.
///
/// `can_run` is what the job says that it can run, `workload.knobs` the knobs that it declares,
/// whose defaults the configuration has where nothing else is said. A configuration with which the
/// job cannot start is not returned: there is a warning and the default, and for HOCKET_CONFIG
/// invalid_argument.
Result<FetchedConfig> fetch_config(const Topology& topology, const Workload& workload,
                                   ConfigSource* source, Collective& collective,
                                   const Environment& environment = process_environment,
                                   const RunnableValues& can_run = {});

/// Checks that a job can run with a configuration for a reason that its RunnableValues do not say,
/// such as memory.
using AcceptConfig = std::function<Result<void>(const ScheduleConfig&)>;

/// Like fetch_config, for a job that sends the configuration to its other ranks itself. Call on
/// rank 0 only. A configuration that `accept`, if it is not empty, refuses is one with which the
/// job cannot start.
Result<FetchedConfig> ask_for_config(const Topology& topology, const Workload& workload,
                                     ConfigSource* source, const Environment& environment,
                                     const RunnableValues& can_run = {},
                                     const AcceptConfig& accept = {});

/// Writes `report` to the file that HOCKET_REPORT names, completely or not at all. Does nothing if
/// HOCKET_REPORT is unset. Call on rank 0 only.
Result<void> write_report(const RunReport& report,
                          const Environment& environment = process_environment);

/// Reports iteration times to a study while the job runs, so that the study can end a trial early
/// that is clearly slower than another. Appends to the file that HOCKET_ITERATIONS names. Does
/// nothing if HOCKET_ITERATIONS is unset or names something else than a regular file, since a pipe
/// could stop the job, and ignores write errors. For rank 0; one thread.
class IterationLog {
 public:
  explicit IterationLog(const Environment& environment = process_environment);

  /// Appends the time of an iteration. The final report must include the same iteration.
  void add(std::int64_t wall_ns);

 private:
  FileDescriptor file_;  ///< none if there is no file to write
};

}  // namespace hocket
