#pragma once

// What a job links to be tuned: its configuration at start-up, and its report at the end. Nothing
// here fails or delays a job: what goes wrong becomes a warning and the job runs with its default.

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/protocol/config_source.h"
#include "core/protocol/job_report.h"
#include "tuner/client/link/environment.h"

namespace hocket {

/// The configuration to train with, and where it came from.
struct FetchedConfig {
  ScheduleConfig config;
  /// "trial" (HOCKET_CONFIG, set by a sweep), "daemon" (which HOCKET_DAEMON names), "last good"
  /// (what that said before it went away), "store" (promoted for this topology and workload), or
  /// "default".
  std::string source = "default";
  /// For people: which study, or why the default.
  std::string detail = {};
  std::vector<std::string> warnings = {};
  std::int64_t version = 0;  ///< the daemon's; 0: it is not one of the daemon's
  std::string key = {};  ///< of the job (core/protocol/config_key.h), by which the daemon knows it
};

/// Takes HOCKET_CONFIG; else asks the daemon when HOCKET_DAEMON is set, else `source` (may be
/// null), for at most two seconds; else takes what the daemon said last, else the default. Rank 0
/// alone asks; it tells the others, so that all ranks hold the same. Every rank must call it.
/// invalid_argument, on every rank, for a HOCKET_CONFIG of rank 0 that is not valid, since a sweep
/// must not measure something else than it asked for; otherwise an error only when rank 0 cannot be
/// heard.
Result<FetchedConfig> fetch_config(const Topology& topology, const Workload& workload,
                                   ConfigSource* source, Collective& collective,
                                   const Environment& environment = process_environment);

/// The same for a job that tells its other ranks itself; for rank 0 alone.
Result<FetchedConfig> ask_for_config(const Topology& topology, const Workload& workload,
                                     ConfigSource* source, const Environment& environment);

/// Writes `report` to the file that HOCKET_REPORT names, whole or not at all; does nothing when it
/// is unset. For rank 0 to call.
Result<void> write_report(const RunReport& report,
                          const Environment& environment = process_environment);

/// Tells a sweep what each iteration took while the job still runs, so that it can end one that is
/// clearly slower than another: appends to the file that HOCKET_ITERATIONS names. Does nothing when
/// that is unset, and goes on silently where it cannot be written. For rank 0; one thread.
class IterationLog {
 public:
  explicit IterationLog(const Environment& environment = process_environment);

  /// An iteration that the report will hold, too.
  void add(std::int64_t wall_ns);

 private:
  std::ofstream file_;
};

}  // namespace hocket
