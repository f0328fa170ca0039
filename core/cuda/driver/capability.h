#pragma once

// Whether this machine can run CUDA, and if not, why: said before anything is tried.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// One device as the driver describes it.
struct CudaDevice {
  std::string name;
  int compute_major = 0, compute_minor = 0;  ///< the compute capability
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
};

/// Versions are 1000 × major + 10 × minor, as CUDA writes them.
struct CudaCapability {
  int runtime_version = 0;  ///< that hocket was built with
  int driver_version = 0;   ///< the newest that the driver can run; 0 without a driver
  std::vector<CudaDevice> devices;
};

/// "13.0" for 13000.
std::string cuda_version_words(int version);

/// What `runtime_version`, `driver_version` and the runtime's answer to the question for devices
/// mean; `error` is its code, 0 for success, and `error_words` its text. unavailable when the
/// driver is missing or too old, when it shows no device, and when it fails, each with what to do.
Result<void> judge_cuda(int runtime_version, int driver_version, int devices, int error,
                        const std::string& error_words);

/// Asks the driver, without making a context on a device. unavailable as judge_cuda() says.
Result<CudaCapability> probe_cuda();

}  // namespace hocket
