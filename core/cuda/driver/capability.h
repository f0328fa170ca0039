#pragma once

// Checks whether this machine can run CUDA and explains why not, before anything is attempted. Any
// thread.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// A device as the driver describes it.
struct CudaDevice {
  std::string name;
  int compute_major = 0, compute_minor = 0;  ///< compute capability
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
};

/// Versions are 1000 × major + 10 × minor, as in CUDA.
struct CudaCapability {
  int runtime_version = 0;  ///< the version hocket was built with
  int driver_version = 0;   ///< the newest version the driver can run; 0 without a driver
  std::vector<CudaDevice> devices;
};

/// Formats a version: "13.0" for 13000.
std::string cuda_version_words(int version);

/// Interprets `runtime_version`, `driver_version` and the runtime's answer to a query for devices:
/// their number `devices`, its code `error` (0 for success) and its text `error_words`. Returns
/// unavailable when the driver is missing, is too old, shows no device or fails; each message says
/// what to do.
Result<void> judge_cuda(int runtime_version, int driver_version, int devices, int error,
                        const std::string& error_words);

/// Queries the driver without creating a context on a device. Returns unavailable as judge_cuda()
/// does.
Result<CudaCapability> probe_cuda();

}  // namespace hocket
