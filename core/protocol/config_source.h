#pragma once

// Interface to the storage of tuned configurations: a store on disk, or a daemon. A job asks once,
// when it starts (client).

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
  /// Origin, for people: "study gpt2-3, 2026-11-21".
  std::string origin;
  /// "store", "daemon", "last good" (the daemon's answer before it became unreachable), "site"
  /// (what the site ships to its users), or "default" when `origin` says why no other configuration
  /// exists.
  std::string source = "store";
  /// The source has never had a configuration for this topology and workload, so that another
  /// source may have one; `origin` may name the nearest job.
  bool is_unknown = false;
  /// The daemon's version; 0 when it has none.
  std::int64_t version = 0;
  /// Warnings, for people.
  std::vector<std::string> warnings = {};
  /// Outcome of the ended search of the key, for people; empty while it goes on, or if there was
  /// none.
  std::string search = {};
};

class ConfigSource {
 public:
  virtual ~ConfigSource() = default;

  /// Returns the promoted configuration of exactly this topology and workload, or nothing. Takes at
  /// most `timeout_ns`. On an error (store unreadable or locked, invalid content) the caller warns
  /// and the job continues with its default.
  virtual Result<std::optional<StoredConfig>> find(const Topology& topology,
                                                   const Workload& workload,
                                                   std::int64_t timeout_ns) = 0;
};

}  // namespace hocket
