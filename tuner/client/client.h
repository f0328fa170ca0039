#pragma once

// What a job links to be tuned: its configuration at start-up, and its report at the end. Nothing
// here fails or delays a job: what goes wrong becomes a warning and the job runs with its default.

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/collective.h"
#include "core/config_source.h"
#include "core/report.h"
#include "core/result.h"

namespace hocket {

/// The configuration to train with, and where it came from.
struct FetchedConfig {
  ScheduleConfig config;
  /// "trial" (HOCKET_CONFIG, set by a sweep), "store" (promoted for this topology and workload), or
  /// "default".
  std::string source = "default";
  /// For people: which study, or why the default.
  std::string detail;
  std::vector<std::string> warnings;
};

/// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const char*)>;
std::optional<std::string> process_environment(const char* name);

/// Asks the environment, then `source` (may be null) for at most two seconds, then takes the
/// default. Rank 0 alone asks; it tells the others, so that all ranks hold the same. Every rank
/// must call it. invalid_argument, on every rank, for a HOCKET_CONFIG of rank 0 that is not valid,
/// since a sweep must not measure something else than it asked for; otherwise an error only when
/// rank 0 cannot be heard.
Result<FetchedConfig> fetch_config(const Topology& topology, const Workload& workload,
                                   ConfigSource* source, Collective& collective,
                                   const Environment& environment = process_environment);

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
