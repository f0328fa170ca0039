#pragma once

// The seam to whatever remembers tuned configurations: a store on disk, later a daemon. A job asks
// once, when it starts (tuner/client).

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/schedule_config.h"
#include "core/topology.h"
#include "core/workload.h"

namespace hocket {

struct StoredConfig {
  ScheduleConfig config;
  /// Where it came from, for people: "study gpt2-3, 2026-11-21".
  std::string origin;
};

class ConfigSource {
 public:
  virtual ~ConfigSource() = default;

  /// The promoted configuration of exactly this topology and workload, or nothing. Takes at most
  /// `timeout_ns`. An error (unreadable store, locked, invalid content) is for a warning: a job
  /// goes on with its default.
  virtual Result<std::optional<StoredConfig>> find(const Topology& topology,
                                                   const Workload& workload,
                                                   std::int64_t timeout_ns) = 0;
};

}  // namespace hocket
