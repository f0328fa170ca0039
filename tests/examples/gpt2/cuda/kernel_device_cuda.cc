#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_stream.h"
#include "tests/examples/gpt2/cuda/kernel_device.h"

namespace hocket {
namespace {

void expect_success(cudaError_t error) {
  EXPECT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

class CudaKernelDevice final : public KernelDevice {
 public:
  CudaKernelDevice() {
    cudaStream_t stream = nullptr;
    expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.handle = stream;
  }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    expect_success(cudaMalloc(&memory, bytes));
    return memory;
  }
  void release(void* memory) override { expect_success(cudaFree(memory)); }
  void write(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  DeviceStream stream() override { return stream_; }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    expect_success(cudaMemcpyAsync(to, from, bytes, kind, cuda_stream(stream_)));
    expect_success(cudaStreamSynchronize(cuda_stream(stream_)));
  }

  DeviceStream stream_;
};

}  // namespace

KernelDevice* kernel_device(std::string* why) {
  static const auto found = probe_cuda();
  if (!found) {
    if (why) *why = found.error().message;
    return nullptr;
  }
  static CudaKernelDevice device;
  return &device;
}

}  // namespace hocket
