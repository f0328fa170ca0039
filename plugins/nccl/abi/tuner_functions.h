#pragma once

// The functions that the tuner's tables of several versions have in common. NCCL calls them.

#include "plugins/nccl/abi/plugin.h"

namespace hocket::nccl::abi {

/// The init of versions 5 and newer; version 4 has other arguments.
template <int kVersion>
int init_tuner(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes,
               Logger logger, NvLinkInfo* nv_link, TunerConstants* constants) {
  if (context == nullptr) return kSuccess;
  *context =
      process_plugin().open_tuner({kVersion, comm_id, ranks, nodes, logger, nv_link, constants});
  return kSuccess;
}

inline int get_coll_info(void* context, int function, std::size_t bytes, int operations,
                         float** cost_table, int algorithms, int protocols, int is_registered,
                         int* channels) {
  process_plugin().collective_info(context, {function, bytes, operations, is_registered != 0},
                                   {reinterpret_cast<float*>(cost_table), algorithms, protocols},
                                   channels);
  return kSuccess;
}

inline int finalize_tuner(void* context) {
  process_plugin().close_tuner(context);
  return kSuccess;
}

}  // namespace hocket::nccl::abi
