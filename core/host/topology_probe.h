#pragma once

// What this host is, measured with hwloc.

#include "core/base/result.h"
#include "core/protocol/topology.h"

namespace hocket {

/// CPU, memory and the version of Gloo of this host; link and world size keep their defaults, for
/// the caller to fill in.
Result<Topology> probe_topology();

}  // namespace hocket
