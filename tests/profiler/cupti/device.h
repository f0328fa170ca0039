#pragma once

// A real device, used through the driver alone, which is loaded at run time. It produces work to
// record. One thread.

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hocket {

class TestDevice {
 public:
  /// Opens the first device; null, with the reason in `why`, if there is none.
  static std::unique_ptr<TestDevice> open(std::string& why);
  ~TestDevice();
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  /// Functions on stream 0 or 1; false if the driver fails.
  bool spin(int stream, std::uint64_t cycles);  ///< runs a kernel named hocket_spin
  bool fill(int stream);                        ///< fills kBytes
  bool copy_to_host(int stream);                ///< copies kBytes
  bool ask(int stream);  ///< queries whether the stream is done; ignores the answer
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
