#include "plugins/nccl/abi/profiler_functions.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

int init_profiler_v4(void** context, int* event_mask, const char* comm_name, std::uint64_t comm_id,
                     int nodes, int ranks, int rank, Logger logger) {
  return init_profiler({4, comm_id, event_mask, comm_name, nodes, ranks, rank, logger}, context);
}

int start_event_v4(void* context, void** handle, EventDescriptorV4* descriptor) {
  if (descriptor == nullptr) return write_handle(context, handle, nullptr);
  EventDescriptorV5 adapted = to_v5(*descriptor);
  return write_handle(context, handle, &adapted);
}

}  // namespace

extern "C" const ProfilerV4 ncclProfiler_v4 = {kPluginName, init_profiler_v4,   start_event_v4,
                                               stop_event,  record_event_state, finalize_profiler};

}  // namespace hocket::nccl::abi
