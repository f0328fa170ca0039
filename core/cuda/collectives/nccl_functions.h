#pragma once

// NCCL's functions, from the library that is found when they are first asked for
// (core/cuda/libraries/library_search.h): a program that trains on one device, or on the host,
// needs none. Any thread.

#include <nccl.h>

#include "core/base/result.h"

namespace hocket {

struct NcclFunctions {
  decltype(ncclGetVersion)* get_version;
  decltype(ncclGetErrorString)* error_string;
  decltype(ncclGetLastError)* last_error;
  decltype(ncclGetUniqueId)* unique_id;
  decltype(ncclCommInitRankConfig)* init_rank;
  decltype(ncclCommSplit)* split;
  decltype(ncclCommGetAsyncError)* async_error;
  decltype(ncclCommUserRank)* user_rank;
  decltype(ncclCommCount)* count;
  decltype(ncclCommFinalize)* finalize;
  decltype(ncclCommDestroy)* destroy;
  decltype(ncclCommAbort)* abort;
  decltype(ncclGroupStart)* group_start;
  decltype(ncclGroupEnd)* group_end;
  decltype(ncclAllReduce)* all_reduce;
  decltype(ncclReduce)* reduce;
  decltype(ncclReduceScatter)* reduce_scatter;
  decltype(ncclAllGather)* all_gather;
  decltype(ncclBroadcast)* broadcast;
  decltype(ncclSend)* send;
  decltype(ncclRecv)* receive;
};

/// Returns the functions, which live as long as the process; unavailable when no library is found
/// or it is too old, with what to install. The answer is the same each time.
Result<const NcclFunctions*> load_nccl();

/// Returns the functions of a library that load_nccl() has found.
const NcclFunctions& nccl();

}  // namespace hocket
