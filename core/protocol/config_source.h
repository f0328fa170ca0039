#pragma once

// The seam to whatever remembers tuned configurations: a store on disk, or a daemon. A job asks
// once, when it starts (tuner/client).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct StoredConfig {
  ScheduleConfig config;
  /// Where it came from, for people: "study gpt2-3, 2026-11-21".
  std::string origin;
  /// "store", "daemon", "last good" (what the daemon said before it went away), or "default" when
  /// `origin` says why there is nothing else.
  std::string source = "store";
  std::int64_t version = 0;                ///< the daemon's; 0: it has none
  std::vector<std::string> warnings = {};  ///< for people
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
