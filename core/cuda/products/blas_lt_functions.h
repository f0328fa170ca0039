#pragma once

// cuBLASLt's functions, from the library that is found when they are first asked for
// (core/cuda/libraries/library_search.h). Any thread.

#include <cublasLt.h>

#include "core/base/result.h"

namespace hocket {

struct BlasLtFunctions {
  decltype(cublasLtGetStatusString)* status_string;
  decltype(cublasLtCreate)* create;
  decltype(cublasLtDestroy)* destroy;
  decltype(cublasLtMatmul)* multiply;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic;
  decltype(cublasLtMatmulDescSetAttribute)* set_operation;
  decltype(cublasLtMatrixLayoutSetAttribute)* set_layout;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference;
  // The header's functions to initialise descriptors are inline calls of these with their size.
  decltype(cublasLtMatmulDescInit_internal)* init_operation;
  decltype(cublasLtMatrixLayoutInit_internal)* init_layout;
  decltype(cublasLtMatmulPreferenceInit_internal)* init_preference;
};

/// Returns the functions, which live as long as the process; unavailable when no library is found,
/// with what to install. The answer is the same each time.
Result<const BlasLtFunctions*> load_blas_lt();

/// Returns the functions of a library that load_blas_lt() has found.
const BlasLtFunctions& blas_lt();

}  // namespace hocket
