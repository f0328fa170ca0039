#include "kernels/cuda/cudnn/cudnn_functions.h"

#include <cuda_runtime_api.h>

#include <string>

#include "core/base/check.h"
#include "core/cuda/libraries/library_search.h"
#include "core/cuda/libraries/shared_library.h"

namespace hocket {
namespace {

void find_cudnn_functions(FunctionLookup& library, CudnnFunctions& f) {
  library.find("cudnnGetVersion", f.get_version);
  library.find("cudnnGetErrorString", f.error_string);
  library.find("cudnnGetLastErrorString", f.last_error_string);
  library.find("cudnnCreate", f.create);
  library.find("cudnnDestroy", f.destroy);
  library.find("cudnnSetStream", f.set_stream);
  library.find("cudnnBackendCreateDescriptor", f.create_descriptor);
  library.find("cudnnBackendDestroyDescriptor", f.destroy_descriptor);
  library.find("cudnnBackendSetAttribute", f.set_attribute);
  library.find("cudnnBackendGetAttribute", f.get_attribute);
  library.find("cudnnBackendFinalize", f.finalize);
  library.find("cudnnBackendExecute", f.execute);
}

Result<CudnnFunctions> load_cudnn_now() {
  // cuDNN opens these by their names, and ends the process where it does not find the first.
  const auto folders = library_folders(library_hints());
  const std::string toolkit = std::to_string(CUDART_VERSION / 1000);
  open_for_others(library_candidates("libcublasLt.so." + toolkit, folders));
  open_for_others(library_candidates("libnvrtc.so." + toolkit, folders));
  open_for_others(library_versions("libnvrtc-builtins.so." + toolkit, folders));
  const std::string name = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
  const auto loaded =
      load_functions<CudnnFunctions>(library_candidates(name), find_cudnn_functions);
  if (loaded) return loaded;
  return failure(ErrorCode::unavailable,
                 "cuDNN: " + name + " was not found (" + loaded.error().message +
                     "); install cuDNN (pip install nvidia-cudnn-cu13), or name its folder in "
                     "LD_LIBRARY_PATH");
}

}  // namespace

Result<const CudnnFunctions*> load_cudnn() {
  static const Result<CudnnFunctions> loaded = load_cudnn_now();
  HOCKET_TRY(loaded);
  return &*loaded;
}

const CudnnFunctions& cudnn() {
  const auto loaded = load_cudnn();
  HOCKET_CHECK(loaded.has_value(), "cuDNN is opened first");
  return **loaded;
}

}  // namespace hocket
