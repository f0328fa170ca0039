#pragma once

// What a job measured, as it tells a sweep: written by the job to the file that HOCKET_REPORT
// names, read by the tuner. JSON, docs/formats/report.md.

#include <cstdint>
#include <nlohmann/json.hpp>
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
  std::int64_t wall_ns = 0;           ///< from the start of this step to the start of the next
  std::int64_t compute_ns = 0;        ///< at least one compute task was running
  std::int64_t communication_ns = 0;  ///< at least one part was in flight
  std::int64_t exposed_ns = 0;        ///< communication in flight and no compute running
  /// The step ran as one, so what it was spent on is not known; those three are 0.
  bool is_whole = false;

  bool operator==(const Iteration&) const = default;
};

struct RunReport {
  Topology topology;
  Workload workload;
  ScheduleConfig config;
  /// Where the configuration came from: "trial", "store" or "default".
  std::string config_source;
  /// Measured iterations of rank 0, warm-up already dropped.
  std::vector<Iteration> iterations;

  bool operator==(const RunReport&) const = default;
};

nlohmann::json to_json(const RunReport& report);

/// Refuses a missing or wrong field, a negative time, and an iteration of zero length.
Result<RunReport> parse_report(std::string_view text);

}  // namespace hocket
