#include "plugins/nccl/abi/profiler_functions.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

int init_profiler_v6(void** context, std::uint64_t comm_id, int* event_mask, const char* comm_name,
                     int nodes, int ranks, int rank, Logger logger) {
  return init_profiler({6, comm_id, event_mask, comm_name, nodes, ranks, rank, logger}, context);
}

}  // namespace

extern "C" const ProfilerV6 ncclProfiler_v6 = {kPluginName, init_profiler_v6,   write_handle,
                                               stop_event,  record_event_state, finalize_profiler};

}  // namespace hocket::nccl::abi
