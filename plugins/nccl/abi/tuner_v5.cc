#include "plugins/nccl/abi/tables.h"
#include "plugins/nccl/abi/tuner_functions.h"

namespace hocket::nccl::abi {

extern "C" const TunerV5 ncclTunerPlugin_v5 = {kPluginName, init_tuner<5>, get_coll_info,
                                               finalize_tuner};

}  // namespace hocket::nccl::abi
