#pragma once

// This host's hardware as its kernel shows it to every process. For the client library, which must
// not bring hwloc into programs. core/host/topology_probe.h measures the same with hwloc, for
// hocket's own programs; settings that the one stores are found by the other because a test holds
// them equal. Any thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/protocol/topology.h"

namespace hocket {

/// The kernel's description of a host. Tests give texts of other hosts.
struct KernelFiles {
  /// Returns the text of a file; "" if it cannot be read.
  std::function<std::string(const std::string& path)> text;
  /// Returns the names in a folder; none if it cannot be read.
  std::function<std::vector<std::string>(const std::string& path)> names;
  std::int64_t memory_bytes = 0;  ///< of the whole host
  int processors = 0;             ///< online; counts where no file lists them
};

/// Returns this host's. Reads no file yet.
KernelFiles kernel_files();

/// Returns the members of a topology that describe its host; the others keep their defaults. Counts
/// the processors that this process's control group may use, with their cores, sockets and NUMA
/// nodes. Never fails: what the kernel does not say is "unknown CPU", 1 socket, 1 node, and as many
/// cores as hardware threads.
Topology read_hardware(const KernelFiles& files);

}  // namespace hocket
