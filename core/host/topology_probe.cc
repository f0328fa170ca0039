#include "core/host/topology_probe.h"

#include <gloo/config.h>
#include <hwloc.h>
#include <unistd.h>

#include <memory>

namespace hocket {

Result<Topology> probe_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return failure(ErrorCode::unavailable, "hwloc cannot be initialised");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> hwloc(
      raw, hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0)
    return failure(ErrorCode::unavailable, "hwloc cannot read this host");

  Topology topology;
  topology.sockets = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PACKAGE);
  topology.numa_nodes = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE);
  topology.hardware_threads = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU);
  // Some virtual machines report no cores.
  const int cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
  topology.cores = cores > 0 ? cores : topology.hardware_threads;
  // Not hwloc's sum over NUMA nodes: on a virtual machine the kernel may report less memory there
  // than it has.
  const double memory_bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  topology.memory_gib = static_cast<std::int64_t>(memory_bytes / (1 << 30) + 0.5);
  const hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
  topology.cpu_model = model ? model : "unknown CPU";
  topology.library_versions["gloo"] = std::to_string(GLOO_VERSION_MAJOR) + "." +
                                      std::to_string(GLOO_VERSION_MINOR) + "." +
                                      std::to_string(GLOO_VERSION_PATCH);
  return topology;
}

}  // namespace hocket
