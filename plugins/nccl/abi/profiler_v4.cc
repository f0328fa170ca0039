#include "plugins/nccl/abi/plugin.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

int init(void** context, int* event_mask, const char* comm_name, std::uint64_t comm_id, int nodes,
         int ranks, int rank, Logger logger) {
  if (context == nullptr) return kSuccess;
  *context = process_plugin().open_profiler(
      {4, comm_id, event_mask, comm_name, nodes, ranks, rank, logger});
  return kSuccess;
}

// NCCL keeps handles in memory that it does not clear, so a handle is always written.
int start_event(void* context, void** handle, EventDescriptorV4* descriptor) {
  if (handle == nullptr) return kSuccess;
  *handle =
      descriptor == nullptr ? nullptr : process_plugin().start_event(context, to_v5(*descriptor));
  return kSuccess;
}

int stop_event(void* handle) {
  process_plugin().stop_event(handle);
  return kSuccess;
}

int record_event_state(void* handle, int state, EventStateArguments* arguments) {
  process_plugin().record_event_state(handle, state, arguments);
  return kSuccess;
}

int finalize(void* context) {
  process_plugin().close_profiler(context);
  return kSuccess;
}

}  // namespace

extern "C" const ProfilerV4 ncclProfiler_v4 = {kPluginName,        init,    start_event, stop_event,
                                               record_event_state, finalize};

}  // namespace hocket::nccl::abi
