#pragma once

// Measures this host's topology with hwloc. Any thread.

#include "core/base/result.h"
#include "core/protocol/topology.h"

namespace hocket {

/// Returns the CPU, memory and Gloo version of this host. Link and world size keep their defaults;
/// the caller sets them. unavailable when hwloc fails.
Result<Topology> probe_topology();

}  // namespace hocket
