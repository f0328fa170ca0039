#pragma once

// The metrics of a daemon in Prometheus' text format, which GET /metrics answers with: each name,
// its meaning and its labels are declared here.

#include <string>

#include "daemon/api/daemon_state.h"
#include "daemon/metrics/metrics_text.h"
#include "daemon/retention/store_keeper.h"
#include "daemon/server/server.h"

namespace hocket {

/// The server's counts, named hocket_http_….
void add_server_metrics(const ServerCounts& counts, MetricsText& metrics);

/// Thread-safe, as far as its parameters are.
std::string daemon_metrics(const DaemonState& state, const ServerCounts& server,
                           const StoreKeeper::Counts& pruned);

}  // namespace hocket
