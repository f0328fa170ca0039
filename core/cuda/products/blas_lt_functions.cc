#include "core/cuda/products/blas_lt_functions.h"

#include <string>

#include "core/base/check.h"
#include "core/cuda/libraries/library_search.h"
#include "core/cuda/libraries/shared_library.h"

namespace hocket {
namespace {

void find_blas_lt_functions(FunctionLookup& library, BlasLtFunctions& f) {
  library.find("cublasLtGetStatusString", f.status_string);
  library.find("cublasLtCreate", f.create);
  library.find("cublasLtDestroy", f.destroy);
  library.find("cublasLtMatmul", f.multiply);
  library.find("cublasLtMatmulAlgoGetHeuristic", f.heuristic);
  library.find("cublasLtMatmulDescSetAttribute", f.set_operation);
  library.find("cublasLtMatrixLayoutSetAttribute", f.set_layout);
  library.find("cublasLtMatmulPreferenceSetAttribute", f.set_preference);
  library.find("cublasLtMatmulDescInit_internal", f.init_operation);
  library.find("cublasLtMatrixLayoutInit_internal", f.init_layout);
  library.find("cublasLtMatmulPreferenceInit_internal", f.init_preference);
}

Result<BlasLtFunctions> load_blas_lt_now() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  const auto loaded =
      load_functions<BlasLtFunctions>(library_candidates(name), find_blas_lt_functions);
  if (loaded) return loaded;
  return failure(ErrorCode::unavailable,
                 "cuBLASLt: " + name + " was not found (" + loaded.error().message +
                     "); install the CUDA toolkit's cuBLAS (or pip install nvidia-cublas), or "
                     "name its folder in LD_LIBRARY_PATH");
}

}  // namespace

Result<const BlasLtFunctions*> load_blas_lt() {
  static const Result<BlasLtFunctions> loaded = load_blas_lt_now();
  HOCKET_TRY(loaded);
  return &*loaded;
}

const BlasLtFunctions& blas_lt() {
  const auto loaded = load_blas_lt();
  HOCKET_CHECK(loaded.has_value(), "cuBLASLt is opened first");
  return **loaded;
}

}  // namespace hocket
