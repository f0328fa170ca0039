#include "plugins/nccl/abi/profiler_functions.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {

extern "C" const ProfilerV5 ncclProfiler_v5 = {kPluginName, init_since_v5<5>,   write_handle,
                                               stop_event,  record_event_state, finalize_profiler};

}  // namespace hocket::nccl::abi
