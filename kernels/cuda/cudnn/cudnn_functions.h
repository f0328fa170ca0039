#pragma once

// cuDNN's functions, from the library that is found when they are first asked for
// (core/cuda/libraries/library_search.h). Any thread.

#include <cudnn_graph.h>

#include "core/base/result.h"

namespace hocket {

struct CudnnFunctions {
  decltype(cudnnGetVersion)* get_version;
  decltype(cudnnGetErrorString)* error_string;
  decltype(cudnnGetLastErrorString)* last_error_string;
  decltype(cudnnCreate)* create;
  decltype(cudnnDestroy)* destroy;
  decltype(cudnnSetStream)* set_stream;
  decltype(cudnnBackendCreateDescriptor)* create_descriptor;
  decltype(cudnnBackendDestroyDescriptor)* destroy_descriptor;
  decltype(cudnnBackendSetAttribute)* set_attribute;
  decltype(cudnnBackendGetAttribute)* get_attribute;
  decltype(cudnnBackendFinalize)* finalize;
  decltype(cudnnBackendExecute)* execute;
};

/// Returns the functions, which live as long as the process; unavailable when no library is found,
/// with what to install. The answer is the same each time.
Result<const CudnnFunctions*> load_cudnn();

/// Returns the functions of a library that load_cudnn() has found.
const CudnnFunctions& cudnn();

}  // namespace hocket
