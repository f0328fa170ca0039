#include "tests/profiler/cupti/device.h"

#include <dlfcn.h>

namespace hocket {
namespace {

// Spins until the device's clock has advanced by the given number of cycles.
constexpr const char* kSpinPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry hocket_spin(.param .u64 cycles)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [cycles];
  mov.u64 %rd2, %clock64;
again:
  mov.u64 %rd3, %clock64;
  sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p1, %rd4, %rd1;
  @%p1 bra again;
  ret;
}
)";

}  // namespace

struct TestDevice::Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDeviceGet) get_device = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
  decltype(&cuCtxSynchronize) synchronize = nullptr;
  decltype(&cuModuleLoadData) load_module = nullptr;
  decltype(&cuModuleUnload) unload_module = nullptr;
  decltype(&cuModuleGetFunction) get_function = nullptr;
  decltype(&cuStreamCreate) create_stream = nullptr;
  decltype(&cuStreamDestroy) destroy_stream = nullptr;
  decltype(&cuEventCreate) create_event = nullptr;
  decltype(&cuEventDestroy) destroy_event = nullptr;
  decltype(&cuEventRecord) record_event = nullptr;
  decltype(&cuEventQuery) query_event = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuMemAllocHost) allocate_host = nullptr;
  decltype(&cuMemFreeHost) free_host = nullptr;
  decltype(&cuMemsetD8Async) fill = nullptr;
  decltype(&cuMemcpyDtoHAsync) copy_to_host = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;

  bool load(std::string& why) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why = "there is no NVIDIA driver";
      return false;
    }
    const auto find = [&](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) why = std::string("the driver has no ") + name;
      return function != nullptr;
    };
    return find("cuInit", init) && find("cuDeviceGet", get_device) &&
           find("cuDevicePrimaryCtxRetain", retain_context) &&
           find("cuDevicePrimaryCtxRelease_v2", release_context) &&
           find("cuCtxSetCurrent", set_current) && find("cuCtxSynchronize", synchronize) &&
           find("cuModuleLoadData", load_module) && find("cuModuleUnload", unload_module) &&
           find("cuModuleGetFunction", get_function) && find("cuStreamCreate", create_stream) &&
           find("cuStreamDestroy_v2", destroy_stream) && find("cuEventCreate", create_event) &&
           find("cuEventDestroy_v2", destroy_event) && find("cuEventRecord", record_event) &&
           find("cuEventQuery", query_event) && find("cuMemAlloc_v2", allocate) &&
           find("cuMemFree_v2", free) && find("cuMemAllocHost_v2", allocate_host) &&
           find("cuMemFreeHost", free_host) && find("cuMemsetD8Async", fill) &&
           find("cuMemcpyDtoHAsync_v2", copy_to_host) && find("cuLaunchKernel", launch);
  }
};

std::unique_ptr<TestDevice> TestDevice::open(std::string& why) {
  std::unique_ptr<TestDevice> device(new TestDevice);
  return device->prepare(why) ? std::move(device) : nullptr;
}

bool TestDevice::prepare(std::string& why) {
  auto driver = std::make_unique<Driver>();
  if (!driver->load(why)) return false;
  const auto succeeds = [&](const char* what, CUresult result) {
    if (result != CUDA_SUCCESS) why = std::string(what) + ": CUDA error " + std::to_string(result);
    return result == CUDA_SUCCESS;
  };
  if (!succeeds("cuInit", driver->init(0)) ||
      !succeeds("cuDeviceGet", driver->get_device(&device_, 0)) ||
      !succeeds("the context", driver->retain_context(&context_, device_))) {
    return false;
  }
  driver_ = std::move(driver);
  return succeeds("the context", driver_->set_current(context_)) &&
         succeeds("the kernel", driver_->load_module(&module_, kSpinPtx)) &&
         succeeds("the kernel", driver_->get_function(&spin_, module_, "hocket_spin")) &&
         succeeds("a stream", driver_->create_stream(&streams_[0], CU_STREAM_NON_BLOCKING)) &&
         succeeds("a stream", driver_->create_stream(&streams_[1], CU_STREAM_NON_BLOCKING)) &&
         succeeds("an event", driver_->create_event(&event_, CU_EVENT_DISABLE_TIMING)) &&
         succeeds("memory", driver_->allocate(&memory_, kBytes)) &&
         succeeds("host memory", driver_->allocate_host(&host_, kBytes));
}

TestDevice::~TestDevice() {
  if (!driver_) return;
  driver_->synchronize();
  if (host_ != nullptr) driver_->free_host(host_);
  if (memory_ != 0) driver_->free(memory_);
  if (event_ != nullptr) driver_->destroy_event(event_);
  for (CUstream stream : streams_) {
    if (stream != nullptr) driver_->destroy_stream(stream);
  }
  if (module_ != nullptr) driver_->unload_module(module_);
  driver_->release_context(device_);
}

bool TestDevice::spin(int stream, std::uint64_t cycles) {
  void* arguments[] = {&cycles};
  return driver_->launch(spin_, 1, 1, 1, 1, 1, 1, 0, streams_[stream], arguments, nullptr) ==
         CUDA_SUCCESS;
}

bool TestDevice::fill(int stream) {
  return driver_->fill(memory_, 7, kBytes, streams_[stream]) == CUDA_SUCCESS;
}

bool TestDevice::copy_to_host(int stream) {
  return driver_->copy_to_host(host_, memory_, kBytes, streams_[stream]) == CUDA_SUCCESS;
}

bool TestDevice::ask(int stream) {
  if (driver_->record_event(event_, streams_[stream]) != CUDA_SUCCESS) return false;
  const CUresult answer = driver_->query_event(event_);
  return answer == CUDA_SUCCESS || answer == CUDA_ERROR_NOT_READY;
}

bool TestDevice::synchronize() {
  return driver_->synchronize() == CUDA_SUCCESS;
}

}  // namespace hocket
