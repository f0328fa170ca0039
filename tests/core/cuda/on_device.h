#pragma once

// Base of tests that need a device: they are skipped with the reason if there is none.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_driver.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
    auto opened = open_cuda_device(0);
    ASSERT_TRUE(opened) << opened.error().message;
    driver_ = std::move(*opened);
    ASSERT_TRUE(driver_->use_device());
  }
  DeviceDriver& driver() { return *driver_; }

  /// Returns a stream that lives as long as the test.
  DeviceStream stream() {
    streams_.push_back(driver_->create_stream(StreamPriority::normal).value());
    return streams_.back();
  }
  void TearDown() override {
    for (const DeviceStream stream : streams_) driver_->destroy_stream(stream);
  }

 private:
  std::unique_ptr<DeviceDriver> driver_;
  std::vector<DeviceStream> streams_;
};

/// Device memory with a copy of the bytes at `values`. Copies have completed when the call returns.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const void* values, std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    HOCKET_CHECK(cudaMalloc(&memory_, bytes) == cudaSuccess, "no memory on the device");
    put(values);
  }
  ~DeviceBuffer() { cudaFree(memory_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  void* data() const { return memory_; }
  void put(const void* values) {
    if (bytes_ == 0) return;
    HOCKET_CHECK(cudaMemcpy(memory_, values, bytes_, cudaMemcpyHostToDevice) == cudaSuccess,
                 "copying to the device failed");
    // The last bytes may still be in transit, and the driver's streams do not wait for them.
    HOCKET_CHECK(cudaDeviceSynchronize() == cudaSuccess, "copying to the device failed");
  }
  void get(void* values) const {
    if (bytes_ == 0) return;
    HOCKET_CHECK(cudaMemcpy(values, memory_, bytes_, cudaMemcpyDeviceToHost) == cudaSuccess,
                 "copying from the device failed");
  }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hocket
