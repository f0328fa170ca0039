#include "core/cuda/collectives/nccl_functions.h"

#include <string>

#include "core/base/check.h"
#include "core/cuda/libraries/library_search.h"
#include "core/cuda/libraries/shared_library.h"

namespace hocket {
namespace {

void find_nccl_functions(FunctionLookup& library, NcclFunctions& f) {
  library.find("ncclGetVersion", f.get_version);
  library.find("ncclGetErrorString", f.error_string);
  library.find("ncclGetLastError", f.last_error);
  library.find("ncclGetUniqueId", f.unique_id);
  library.find("ncclCommInitRankConfig", f.init_rank);
  library.find("ncclCommSplit", f.split);
  library.find("ncclCommGetAsyncError", f.async_error);
  library.find("ncclCommUserRank", f.user_rank);
  library.find("ncclCommCount", f.count);
  library.find("ncclCommFinalize", f.finalize);
  library.find("ncclCommDestroy", f.destroy);
  library.find("ncclCommAbort", f.abort);
  library.find("ncclGroupStart", f.group_start);
  library.find("ncclGroupEnd", f.group_end);
  library.find("ncclAllReduce", f.all_reduce);
  library.find("ncclReduce", f.reduce);
  library.find("ncclReduceScatter", f.reduce_scatter);
  library.find("ncclAllGather", f.all_gather);
  library.find("ncclBroadcast", f.broadcast);
  library.find("ncclSend", f.send);
  library.find("ncclRecv", f.receive);
}

Result<NcclFunctions> load_nccl_now() {
  const std::string name = "libnccl.so." + std::to_string(NCCL_MAJOR);
  const auto loaded = load_functions<NcclFunctions>(library_candidates(name), find_nccl_functions);
  if (loaded) return loaded;
  return failure(ErrorCode::unavailable,
                 "NCCL: " + name + " was not found or is too old (" + loaded.error().message +
                     "); install NCCL 2.18 or newer (pip install nvidia-nccl-cu13), or name its "
                     "folder in LD_LIBRARY_PATH");
}

}  // namespace

Result<const NcclFunctions*> load_nccl() {
  static const Result<NcclFunctions> loaded = load_nccl_now();
  HOCKET_TRY(loaded);
  return &*loaded;
}

const NcclFunctions& nccl() {
  const auto loaded = load_nccl();
  HOCKET_CHECK(loaded.has_value(), "NCCL is opened first");
  return **loaded;
}

}  // namespace hocket
