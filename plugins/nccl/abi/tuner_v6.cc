#include "plugins/nccl/abi/tables.h"
#include "plugins/nccl/abi/tuner_functions.h"

namespace hocket::nccl::abi {

// NCCL computes the chunk size itself where the function is null.
extern "C" const TunerV6 ncclTunerPlugin_v6 = {kPluginName, init_tuner<6>, get_coll_info,
                                               finalize_tuner, nullptr};

}  // namespace hocket::nccl::abi
