#include "profiler/cupti/level.h"

#include <cupti.h>

#include <string>

namespace hocket {
namespace {

struct KindOfLevel {
  CuptiLevel from;
  std::uint32_t kind;
  std::string_view name;
};

constexpr KindOfLevel kKinds[] = {
    {CuptiLevel::l0, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "concurrent kernels"},
    {CuptiLevel::l0, CUPTI_ACTIVITY_KIND_MEMCPY, "memory copies"},
    {CuptiLevel::l0, CUPTI_ACTIVITY_KIND_MEMCPY2, "memory copies between devices"},
    {CuptiLevel::l0, CUPTI_ACTIVITY_KIND_MEMSET, "memory sets"},
    {CuptiLevel::l0, CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
    // External correlation comes before the calls, so that no call is recorded without its task.
    {CuptiLevel::l1, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "external correlation"},
    {CuptiLevel::l1, CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls"},
    {CuptiLevel::l1, CUPTI_ACTIVITY_KIND_DRIVER, "driver calls"},
    {CuptiLevel::l1, CUPTI_ACTIVITY_KIND_MARKER, "NVTX ranges"},
    {CuptiLevel::l2, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "synchronisation"},
    {CuptiLevel::l2, CUPTI_ACTIVITY_KIND_CUDA_EVENT, "events"},
};

// The runtime reports "not ready" as an error, which is then cleared; and a task's launches report
// their errors only there.
constexpr CudaCall kPollingCalls[] = {
    {ApiDomain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020},
    {ApiDomain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020},
    {ApiDomain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020},
    {ApiDomain::driver, CUPTI_DRIVER_TRACE_CBID_cuEventQuery},
};

}  // namespace

std::string_view to_string(CuptiLevel level) {
  constexpr std::string_view names[] = {"L0", "L1", "L2"};
  return names[static_cast<std::size_t>(level)];
}

Result<CuptiLevel> cupti_level(std::string_view text) {
  if (text == "L0" || text == "l0") return CuptiLevel::l0;
  if (text == "L1" || text == "l1") return CuptiLevel::l1;
  if (text == "L2" || text == "l2") return CuptiLevel::l2;
  return invalid("CUPTI level: \"" + std::string(text) + "\", allowed are L0, L1 and L2");
}

std::vector<std::uint32_t> activity_kinds(CuptiLevel level) {
  std::vector<std::uint32_t> kinds;
  for (const KindOfLevel& kind : kKinds) {
    if (kind.from <= level) kinds.push_back(kind.kind);
  }
  return kinds;
}

std::span<const CudaCall> polling_calls() {
  return kPollingCalls;
}

std::string_view activity_kind_name(std::uint32_t kind) {
  for (const KindOfLevel& known : kKinds) {
    if (known.kind == kind) return known.name;
  }
  return "records of another kind";
}

}  // namespace hocket
