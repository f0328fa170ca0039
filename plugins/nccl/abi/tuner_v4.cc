#include "plugins/nccl/abi/plugin.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

int init(std::size_t ranks, std::size_t nodes, Logger logger, void** context) {
  TunerOpening opening;
  opening.version = 4;
  opening.ranks = ranks;
  opening.nodes = nodes;
  opening.logger = logger;
  if (context != nullptr) *context = process_plugin().open_tuner(opening);
  return kSuccess;
}

int get_coll_info(void* context, int function, std::size_t bytes, int operations,
                  float** cost_table, int algorithms, int protocols, int is_registered,
                  int* channels) {
  process_plugin().collective_info(context, {function, bytes, operations, is_registered != 0},
                                   {reinterpret_cast<float*>(cost_table), algorithms, protocols},
                                   channels);
  return kSuccess;
}

int destroy(void* context) {
  process_plugin().close_tuner(context);
  return kSuccess;
}

}  // namespace

extern "C" const TunerV4 ncclTunerPlugin_v4 = {kPluginName, init, get_coll_info, destroy};

}  // namespace hocket::nccl::abi
