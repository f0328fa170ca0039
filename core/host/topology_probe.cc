#include "core/host/topology_probe.h"

#include <gloo/config.h>
#include <hwloc.h>

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
  topology.cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
  topology.hardware_threads = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU);
  constexpr std::uint64_t GiB = 1 << 30;
  topology.memory_gib =
      static_cast<std::int64_t>((hwloc_get_root_obj(raw)->total_memory + GiB / 2) / GiB);
  const hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
  topology.cpu_model = model ? model : "unknown CPU";
  topology.library_versions["gloo"] = std::to_string(GLOO_VERSION_MAJOR) + "." +
                                      std::to_string(GLOO_VERSION_MINOR) + "." +
                                      std::to_string(GLOO_VERSION_PATCH);
  return topology;
}

}  // namespace hocket
