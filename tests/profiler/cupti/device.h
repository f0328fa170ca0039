#pragma once

// A real device through the driver alone, found at run time: enough to have something to record.
// One thread.

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hocket {

class TestDevice {
 public:
  /// The first device; null with the reason in `why` when there is none.
  static std::unique_ptr<TestDevice> open(std::string& why);
  ~TestDevice();
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  /// Stream 0 or 1. False when the driver refuses.
  bool spin(int stream, std::uint64_t cycles);  ///< a kernel called hocket_spin
  bool fill(int stream);                        ///< of kBytes
  bool copy_to_host(int stream);                ///< of kBytes
  bool ask(int stream);                         ///< whether it is done; the answer is dropped
  bool synchronize();

  static constexpr std::size_t kBytes = 1 << 20;

 private:
  struct Driver;

  TestDevice() = default;
  bool prepare(std::string& why);

  std::unique_ptr<Driver> driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction spin_ = nullptr;
  CUstream streams_[2] = {};
  CUevent event_ = nullptr;
  CUdeviceptr memory_ = 0;
  void* host_ = nullptr;
};

}  // namespace hocket
