#pragma once

// The flags of a job: one function for each group of options, to be called in the order in which
// --help lists them. `app` and the options must outlive the parsing. For the thread of main().

#include "job/network/job_network.h"
#include "job/run/device_options.h"
#include "job/run/run_options.h"

namespace CLI {
class App;
}

namespace hocket {

/// --device and --offload-k.
void add_device_flags(CLI::App& app, DeviceOptions& options);
/// --link, --server-link, --colocated-servers and --timeout.
void add_network_flags(CLI::App& app, NetworkOptions& options);
/// --profile, --step and --record; --profile-at, -iterations, -interleave and -level;
/// --profile-on-request, --watch and --explore. Takes the default of --step from HOCKET_STEP.
void add_run_flags(CLI::App& app, RunOptions& options);

}  // namespace hocket
