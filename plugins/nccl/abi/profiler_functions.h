#pragma once

// The functions that the profiler's tables of several versions have in common. NCCL calls them.

#include "plugins/nccl/abi/plugin.h"

namespace hocket::nccl::abi {

inline int init_profiler(const ProfilerOpening& opening, void** context) {
  if (context != nullptr) *context = process_plugin().open_profiler(opening);
  return kSuccess;
}

template <int kVersion>
int init_since_v5(void** context, std::uint64_t comm_id, int* event_mask, const char* comm_name,
                  int nodes, int ranks, int rank, Logger logger) {
  return init_profiler({kVersion, comm_id, event_mask, comm_name, nodes, ranks, rank, logger},
                       context);
}

/// NCCL keeps handles in memory that it does not clear, so a handle is always written.
/// `descriptor` is null or as of version 5 or 6.
inline int write_handle(void* context, void** handle, EventDescriptorV5* descriptor) {
  if (handle == nullptr) return kSuccess;
  *handle = descriptor == nullptr ? nullptr : process_plugin().start_event(context, *descriptor);
  return kSuccess;
}

inline int stop_event(void* handle) {
  process_plugin().stop_event(handle);
  return kSuccess;
}

inline int record_event_state(void* handle, int state, EventStateArguments* arguments) {
  process_plugin().record_event_state(handle, state, arguments);
  return kSuccess;
}

inline int finalize_profiler(void* context) {
  process_plugin().close_profiler(context);
  return kSuccess;
}

}  // namespace hocket::nccl::abi
