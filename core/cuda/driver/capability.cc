#include "core/cuda/driver/capability.h"

namespace hocket {
namespace {

// Error codes of the CUDA runtime, which are part of its interface: cudaErrorInsufficientDriver,
// cudaErrorNoDevice, cudaErrorSystemDriverMismatch, cudaErrorCompatNotSupportedOnDevice.
constexpr int kSuccess = 0, kInsufficientDriver = 35, kNoDevice = 100, kDriverMismatch = 803,
              kCompatibilityNotSupported = 804;

tl::unexpected<Error> unavailable(const std::string& what) {
  return failure(ErrorCode::unavailable, "CUDA: " + what);
}

}  // namespace

std::string cuda_version_words(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<void> judge_cuda(int runtime_version, int driver_version, int devices, int error,
                        const std::string& error_words) {
  const std::string runtime = cuda_version_words(runtime_version);
  if (driver_version == 0)
    return unavailable(
        "no driver is installed (libcuda.so.1 was not found); on a machine with an NVIDIA GPU "
        "install its driver, on others train on the host");
  if (error == kInsufficientDriver || error == kCompatibilityNotSupported)
    return unavailable("the driver is too old: it runs CUDA up to " +
                       cuda_version_words(driver_version) + ", and hocket was built with " +
                       runtime + "; update the driver, or build with an older toolkit");
  if (error == kDriverMismatch)
    return unavailable("the driver's library and its kernel module have different versions (" +
                       error_words + "); reboot, or install the driver again");
  if (error == kNoDevice || (error == kSuccess && devices == 0))
    return unavailable(
        "the driver is there, but shows no device; see whether `nvidia-smi -L` lists one, and "
        "whether CUDA_VISIBLE_DEVICES hides it");
  if (error != kSuccess)
    return unavailable("the driver cannot be used: " + error_words + " (error " +
                       std::to_string(error) + ")");
  return {};
}

}  // namespace hocket
