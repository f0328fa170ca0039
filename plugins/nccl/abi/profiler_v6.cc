#include "plugins/nccl/abi/profiler_functions.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {

extern "C" const ProfilerV6 ncclProfiler_v6 = {kPluginName, init_since_v5<6>,   write_handle,
                                               stop_event,  record_event_state, finalize_profiler};

}  // namespace hocket::nccl::abi
