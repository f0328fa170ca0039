#pragma once

// The server's counts as metrics of Prometheus, named hocket_http_….

#include "daemon/metrics/metrics.h"
#include "daemon/server/server.h"

namespace hocket {

void add_metrics(const ServerCounts& counts, MetricsText& metrics);

}  // namespace hocket
