#include "kernels/cuda/cuda_memory.h"

#include "core/base/check.h"
#include "core/cuda/executor/device_task.h"
#include "kernels/cuda/batches.h"
#include "kernels/cuda/device_kernel_memory.h"

namespace hocket {
namespace {

class CudaMemory final : public DeviceKernelMemory {
 public:
  CudaMemory(DeviceDriver& driver, DeviceStream setup, std::int64_t memory_bytes)
      : DeviceKernelMemory(driver, setup, memory_bytes) {}

  using DeviceKernelMemory::open_stream;

  Result<void> take(const StepValues& values, std::byte* to) override {
    return take_drawn(values.first, values.bytes, values.count, counter_of(values), to,
                      this_device_task().stream);
  }
  /// Steps keep numbers, as many as there are places.
  Result<void> keep(const std::byte* from, const StepValues& values) override {
    HOCKET_CHECK(values.bytes == sizeof(float), "a step keeps numbers of float32");
    return keep_number(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(values.first),
                       counter_of(values), this_device_task().stream);
  }

 private:
  static std::int64_t* counter_of(const StepValues& values) {
    return reinterpret_cast<std::int64_t*>(values.counter);
  }
};

}  // namespace

Result<std::unique_ptr<KernelMemory>> open_cuda_memory(DeviceDriver& driver) {
  const auto memory_bytes = driver.memory_bytes();
  HOCKET_TRY(memory_bytes);
  const auto stream = CudaMemory::open_stream(driver);
  HOCKET_TRY(stream);
  return std::make_unique<CudaMemory>(driver, *stream, *memory_bytes);
}

}  // namespace hocket
