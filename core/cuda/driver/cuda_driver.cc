#include "core/cuda/driver/cuda_driver.h"

#include <cuda_runtime_api.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_stream.h"

namespace hocket {
namespace {

std::string words_of(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

/// Returns success, or the runtime's error with `what` as its context.
Result<void> checked(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // otherwise a later call would report it
  return failure(ErrorCode::unavailable, std::string(what) + ": " + words_of(error));
}

/// Returns whether the error is one of work that has run on the device. Every later call on any
/// thread returns it, too.
bool is_of_the_device(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
      return true;
    default:
      return false;
  }
}

/// The thread's launch error that a query has found pending and would otherwise have overwritten.
thread_local cudaError_t kept_error = cudaSuccess;

cudaEvent_t cuda_event(DeviceEvent event) {
  return static_cast<cudaEvent_t>(event.handle);
}

cudaGraphExec_t cuda_graph(DeviceGraph graph) {
  return static_cast<cudaGraphExec_t>(graph.handle);
}

class CudaDriver final : public DeviceDriver {
 public:
  explicit CudaDriver(int ordinal) : ordinal_(ordinal) {}

  /// Creates the device's context, and makes its memory pool keep what streams have freed; by
  /// default the pool returns memory to the system whenever the host synchronizes.
  Result<void> open() {
    if (auto ok = use_device(); !ok) return ok;
    if (auto ok = checked("cudaDeviceGetStreamPriorityRange",
                          cudaDeviceGetStreamPriorityRange(&least_urgent_, &most_urgent_));
        !ok) {
      return ok;
    }
    cudaMemPool_t pool = nullptr;
    if (auto ok =
            checked("cudaDeviceGetDefaultMemPool", cudaDeviceGetDefaultMemPool(&pool, ordinal_));
        !ok) {
      return ok;
    }
    std::uint64_t kept_bytes = std::numeric_limits<std::uint64_t>::max();
    return checked("cudaMemPoolSetAttribute",
                   cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes));
  }

  Result<void> use_device() override { return checked("cudaSetDevice", cudaSetDevice(ordinal_)); }

  Result<void> take_launch_error() override {
    const cudaError_t last = cudaGetLastError();
    const cudaError_t error = kept_error == cudaSuccess ? last : kept_error;
    if (error == cudaSuccess) return {};
    kept_error = cudaSuccess;
    const char* const whose = is_of_the_device(error)
                                  ? "work that was put onto the device before has failed there: "
                                  : "";
    return failure(ErrorCode::unavailable, whose + words_of(error));
  }

  Result<DeviceStream> create_stream(StreamPriority priority) override {
    cudaStream_t stream = nullptr;
    const int level = priority == StreamPriority::urgent ? most_urgent_ : least_urgent_;
    auto ok = checked("cudaStreamCreateWithPriority",
                      cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, level));
    return ok.map([&] { return DeviceStream{stream}; });
  }
  void destroy_stream(DeviceStream stream) override { cudaStreamDestroy(cuda_stream(stream)); }
  Result<void> synchronize(DeviceStream stream) override {
    return checked("cudaStreamSynchronize", cudaStreamSynchronize(cuda_stream(stream)));
  }

  Result<DeviceEvent> create_event(EventTiming timing) override {
    cudaEvent_t event = nullptr;
    const unsigned flags = timing == EventTiming::timed ? cudaEventDefault : cudaEventDisableTiming;
    auto ok = checked("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&event, flags));
    return ok.map([&] { return DeviceEvent{event}; });
  }
  void destroy_event(DeviceEvent event) override { cudaEventDestroy(cuda_event(event)); }
  Result<void> record(DeviceEvent event, DeviceStream stream) override {
    return checked("cudaEventRecord", cudaEventRecord(cuda_event(event), cuda_stream(stream)));
  }
  Result<void> wait(DeviceStream stream, DeviceEvent event) override {
    return checked("cudaStreamWaitEvent",
                   cudaStreamWaitEvent(cuda_stream(stream), cuda_event(event), 0));
  }
  Result<bool> has_run(DeviceEvent event) override {
    const cudaError_t pending = cudaPeekAtLastError();
    const cudaError_t answer = cudaEventQuery(cuda_event(event));
    if (answer == cudaErrorNotReady) {
      // The query has made "not ready" the thread's last error.
      cudaGetLastError();
      if (pending != cudaSuccess) kept_error = pending;
      return false;
    }
    return checked("cudaEventQuery", answer).map([] { return true; });
  }

  Result<std::int64_t> elapsed_ns(DeviceEvent begin, DeviceEvent end) override {
    float elapsed_ms = 0;
    auto ok = checked("cudaEventElapsedTime",
                      cudaEventElapsedTime(&elapsed_ms, cuda_event(begin), cuda_event(end)));
    return ok.map([&] { return std::llround(double{elapsed_ms} * 1e6); });
  }

  Result<void*> allocate(std::size_t bytes, DeviceStream stream) override {
    void* memory = nullptr;
    auto ok = checked("cudaMallocAsync", cudaMallocAsync(&memory, bytes, cuda_stream(stream)));
    return ok.map([&] { return memory; });
  }
  Result<void> free(void* memory, DeviceStream stream) override {
    return checked("cudaFreeAsync", cudaFreeAsync(memory, cuda_stream(stream)));
  }

  Result<void*> allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    auto ok = checked("cudaHostAlloc", cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
    return ok.map([&] { return memory; });
  }
  void free_host(void* memory) override { cudaFreeHost(memory); }
  Result<void> copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) override {
    return checked("cudaMemcpyAsync",
                   cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(stream)));
  }
  Result<void> fill_zero(void* memory, std::size_t bytes, DeviceStream stream) override {
    return checked("cudaMemsetAsync", cudaMemsetAsync(memory, 0, bytes, cuda_stream(stream)));
  }
  Result<void> run_on_host(DeviceStream stream, void (*function)(void*), void* argument) override {
    return checked("cudaLaunchHostFunc",
                   cudaLaunchHostFunc(cuda_stream(stream), function, argument));
  }
  Result<std::string> bus_id() override {
    char id[64] = {};
    return checked("cudaDeviceGetPCIBusId", cudaDeviceGetPCIBusId(id, sizeof id, ordinal_))
        .map([&] { return std::string(id); });
  }
  Result<std::int64_t> memory_bytes() override {
    std::size_t unused = 0, all = 0;
    auto ok = checked("cudaMemGetInfo", cudaMemGetInfo(&unused, &all));
    return ok.map([&] { return static_cast<std::int64_t>(all); });
  }

  Result<void> begin_capture(DeviceStream stream) override {
    return checked("cudaStreamBeginCapture",
                   cudaStreamBeginCapture(cuda_stream(stream), cudaStreamCaptureModeThreadLocal));
  }
  Result<DeviceGraph> end_capture(DeviceStream stream) override {
    cudaGraph_t captured = nullptr;
    HOCKET_TRY(
        checked("cudaStreamEndCapture", cudaStreamEndCapture(cuda_stream(stream), &captured)));
    cudaGraphExec_t graph = nullptr;
    // Keeps the priorities of the captured streams; by default the launching stream's priority
    // applies.
    auto ok =
        checked("cudaGraphInstantiate",
                cudaGraphInstantiate(&graph, captured, cudaGraphInstantiateFlagUseNodePriority));
    cudaGraphDestroy(captured);
    return ok.map([&] { return DeviceGraph{graph}; });
  }
  Result<void> launch(DeviceGraph graph, DeviceStream stream) override {
    return checked("cudaGraphLaunch", cudaGraphLaunch(cuda_graph(graph), cuda_stream(stream)));
  }
  void destroy_graph(DeviceGraph graph) override { cudaGraphExecDestroy(cuda_graph(graph)); }

 private:
  const int ordinal_;
  int least_urgent_ = 0, most_urgent_ = 0;
};

}  // namespace

Result<std::unique_ptr<DeviceDriver>> open_cuda_device(int ordinal) {
  const auto found = probe_cuda();
  HOCKET_TRY(found);
  const auto devices = static_cast<int>(found->devices.size());
  if (ordinal < 0 || ordinal >= devices) {
    return invalid("CUDA device " + std::to_string(ordinal) + ": must be from 0 to " +
                   std::to_string(devices - 1));
  }
  auto driver = std::make_unique<CudaDriver>(ordinal);
  if (auto ok = driver->open(); !ok)
    return failure(ok.error().in("CUDA device " + std::to_string(ordinal)));
  return driver;
}

}  // namespace hocket
