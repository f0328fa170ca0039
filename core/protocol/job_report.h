#pragma once

// Measurements of a job, as reported to a study: the job writes them to the file named by
// HOCKET_REPORT, the tuner reads them. JSON, docs/formats/report.md. Pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// One training iteration on one rank, in nanoseconds.
struct Iteration {
  /// From the start of this step to the start of the next.
  std::int64_t wall_ns = 0;
  /// Time in which at least one compute task was running.
  std::int64_t compute_ns = 0;
  /// Time in which at least one part was in flight.
  std::int64_t communication_ns = 0;
  /// Time with communication in flight and no compute running.
  std::int64_t exposed_ns = 0;
  /// True when only the whole time is known, because the step ran as a whole or the program does
  /// not measure more; the other three times are 0.
  bool is_whole = false;

  bool operator==(const Iteration&) const = default;
};

struct RunReport {
  Topology topology;
  Workload workload;
  ScheduleConfig config;
  /// Source of the configuration: "trial", "store" or "default".
  std::string config_source;
  /// Measured iterations of rank 0, without warm-up.
  std::vector<Iteration> iterations;

  bool operator==(const RunReport&) const = default;
};

nlohmann::json to_json(const RunReport& report);

/// Parses a report. Refuses a missing or wrong field, a negative time, and an iteration of zero
/// length.
Result<RunReport> parse_report(std::string_view text);

}  // namespace hocket
