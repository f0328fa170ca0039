#pragma once

// The findings of a job before it trains: its topology, what it can run, and the configuration to
// begin with. For the thread of main().

#include <cstdint>
#include <string>

#include "client/start/client.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/protocol/runnable_values.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "job/network/job_network.h"
#include "job/run/device_options.h"
#include "job/training/training.h"

namespace hocket {

/// Returns the topology of this machine and of the network.
Result<Topology> probe_topology(const JobNetwork& network);

struct JobKind {
  int ranks_per_host = 1;
  int servers = 0;  ///< parameter servers
  bool is_updated_by_servers = false;
  bool is_placed = false;   ///< on a device of limited memory, so that steps are not partitioned
  bool is_watched = false;  ///< tuned while it trains
  bool has_step = false;    ///< knows its step, without which it does not change to order=static
};

/// Returns the values of knobs that such a job can run.
RunnableValues runnable_values(const JobKind& kind);

/// Returns the configuration to train with as fetch_config() does, from the store that HOCKET_STORE
/// names where no daemon is asked. Every rank must call it.
Result<FetchedConfig> fetch_config(const Topology& topology, const Workload& workload,
                                   Collective& collective, const JobKind& kind);

/// Checks that the configuration can partition or place the job's steps, before any step runs. If
/// `is_offload_measured`, the number of layers that fit is left to the measurement.
Result<void> check_config(const Training& training, const ScheduleConfig& config,
                          bool is_offload_measured);

/// Returns the configuration in words. `offload` describes the layers of a placed job, see
/// describe_offload(); empty for others.
std::string describe_config(const ScheduleConfig& config, const std::string& offload);
/// Returns how many of a model's `layers` a device of limited memory keeps.
std::string describe_offload(const ScheduleConfig& config, const OffloadK& offload_k,
                             std::int64_t layers);

}  // namespace hocket
