#include "plugins/nccl/abi/tables.h"
#include "plugins/nccl/abi/tuner_functions.h"

namespace hocket::nccl::abi {
namespace {

int init_tuner_v4(std::size_t ranks, std::size_t nodes, Logger logger, void** context) {
  TunerOpening opening;
  opening.version = 4;
  opening.ranks = ranks;
  opening.nodes = nodes;
  opening.logger = logger;
  if (context != nullptr) *context = process_plugin().open_tuner(opening);
  return kSuccess;
}

}  // namespace

extern "C" const TunerV4 ncclTunerPlugin_v4 = {kPluginName, init_tuner_v4, get_coll_info,
                                               finalize_tuner};

}  // namespace hocket::nccl::abi
