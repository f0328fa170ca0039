#include "plugins/nccl/abi/plugin.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

int init(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes, Logger logger,
         NvLinkInfo* nv_link, TunerConstants* constants) {
  if (context == nullptr) return kSuccess;
  *context = process_plugin().open_tuner({6, comm_id, ranks, nodes, logger, nv_link, constants});
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

int finalize(void* context) {
  process_plugin().close_tuner(context);
  return kSuccess;
}

}  // namespace

// NCCL computes the chunk size itself where the function is null.
extern "C" const TunerV6 ncclTunerPlugin_v6 = {kPluginName, init, get_coll_info, finalize, nullptr};

}  // namespace hocket::nccl::abi
