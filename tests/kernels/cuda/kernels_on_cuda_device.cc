// Lets the tests of kernels run on a CUDA device. Without one they are skipped, with the reason.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_driver.h"
#include "core/cuda/products/blas_lt.h"
#include "tests/kernels/cuda/compared.h"

namespace hocket {
namespace {

class CudaDevice final : public testing::Environment {
 public:
  void SetUp() override {
    if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
    auto driver = open_cuda_device(0);
    ASSERT_TRUE(driver) << driver.error().message;
    driver_ = std::move(*driver);
    ASSERT_TRUE(driver_->use_device());
    auto products = open_blas_lt(*driver_);
    ASSERT_TRUE(products) << products.error().message;
    products_ = std::move(*products);
    const auto stream = driver_->create_stream(StreamPriority::normal);
    ASSERT_TRUE(stream) << stream.error().message;
    tested_device() = {.products = products_.get(), .stream = *stream};
    test_memory() = {.allocate = allocate,
                     .release = [](void* memory) { cudaFree(memory); },
                     .finish = [] { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }};
  }

 private:
  /// Memory that host and device reach.
  static void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocManaged(&memory, bytes), cudaSuccess);
    return memory;
  }

  std::unique_ptr<DeviceDriver> driver_;
  std::unique_ptr<MatrixProducts> products_;
};

[[maybe_unused]] const auto* const kDevice =
    testing::AddGlobalTestEnvironment(std::make_unique<CudaDevice>().release());

}  // namespace
}  // namespace hocket
