#include "profiler/cupti/probe.h"

#include <cupti.h>

#include <cstdint>
#include <vector>

namespace hocket {
namespace {

tl::unexpected<Error> unavailable(const std::string& why) {
  return failure(ErrorCode::unavailable, "CUPTI: " + why + "; " + kHostLevel);
}

/// Formats the CUDA version that the driver reports.
std::string cuda_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Returns "13.0", or "before 13".
std::string library_text(std::uint32_t version) {
  if (version < 10'000) return "before 13";
  return std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100);
}

}  // namespace

std::string describe_status(const CuptiApi& api, int status) {
  switch (status) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another tool records already; end it, or run without hocket's profiler";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "this user may not profile the device; the administrator must load the driver with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      return "it cannot start, as when there is no usable device (" + api.status_name(status) +
             "); see whether nvidia-smi shows one";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "there is not enough memory; free some, or profile fewer steps";
    case CUPTI_ERROR_NOT_COMPATIBLE:
      return "what is asked for does not go together with what is recorded already";
    case CUPTI_ERROR_INVALID_KIND:
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_API_NOT_IMPLEMENTED:
      return "this device or version does not support it; choose a lower level";
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "another profiling interface is in use or the device is too new for it";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "it does not support this kind of device (" + api.status_name(status) + ")";
    default:
      return api.status_name(status);
  }
}

Result<void> check_versions(const CuptiApi& api) {
  const std::uint32_t version = api.version();
  const int driver_version = api.driver_version();
  constexpr std::uint32_t built = CUPTI_API_VERSION;
  if (version / 100 < built / 100 || version / 10'000 != built / 10'000) {
    return unavailable("its library is of CUDA " + library_text(version) + ", allowed are " +
                       library_text(built) + " and later ones of " +
                       std::to_string(built / 10'000) +
                       "; put the folder of such a libcupti first in LD_LIBRARY_PATH");
  }
  if (driver_version == 0) {
    return unavailable("there is no NVIDIA driver (libcuda.so.1); install one");
  }
  const auto major = static_cast<int>(version / 10'000);
  if (driver_version / 1000 < major) {
    return unavailable("the driver supports CUDA " + cuda_text(driver_version) + ", needed is " +
                       std::to_string(major) + ".0 or later; update the driver");
  }
  return {};
}

Result<void> subscribe_cupti(CuptiApi& api) {
  std::string holder;
  const int status = api.subscribe(holder);
  if (status == CUPTI_SUCCESS) return {};
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && !holder.empty()) {
    return unavailable("\"" + holder +
                       "\" records already, and there can be only one; end it, or run without "
                       "hocket's profiler");
  }
  return unavailable(describe_status(api, status));
}

Result<void> enable_kinds(CuptiApi& api, CuptiLevel level) {
  const std::vector<std::uint32_t> kinds = activity_kinds(level);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const int status = api.enable(kinds[i]);
    if (status == CUPTI_SUCCESS) continue;
    for (std::size_t k = i; k > 0; --k) api.disable(kinds[k - 1]);
    return unavailable("level " + std::string(to_string(level)) + ", " +
                       std::string(activity_kind_name(kinds[i])) + ": " +
                       describe_status(api, status));
  }
  // Done each time, since enabling a kind undoes it. If it fails, the profile is merely larger.
  if (level >= CuptiLevel::l1) {
    for (const CudaCall& call : polling_calls()) api.leave_out(call.domain, call.id);
  }
  if (level >= CuptiLevel::l2) api.leave_out_vain_queries();
  return {};
}

void disable_kinds(CuptiApi& api, CuptiLevel level) {
  const std::vector<std::uint32_t> kinds = activity_kinds(level);
  for (std::size_t i = kinds.size(); i > 0; --i) api.disable(kinds[i - 1]);
}

}  // namespace hocket
