#include "core/cuda/products/blas_lt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "tests/core/cuda/host_matrix.h"
#include "tests/core/cuda/model_device.h"
#include "tests/core/cuda/on_device.h"

namespace hocket {
namespace {

using BlasLtTest = OnDevice;

TEST(BlasLt, WithoutADeviceSaysSo) {
  if (probe_cuda()) GTEST_SKIP() << "there is a device";
  ModelDevice device;
  const auto products = open_blas_lt(device);
  ASSERT_FALSE(products);
  EXPECT_EQ(products.error().code, ErrorCode::unavailable);
}

/// Operands of a product in device memory.
struct DeviceProduct {
  explicit DeviceProduct(const HostProduct& host)
      : a(host.a.data(), host.a.bytes()),
        b(host.b.data(), host.b.bytes()),
        c(host.c.data(), host.c.bytes()),
        added(host.added.data(), host.added.bytes()),
        bias(host.bias.data(), host.bias.bytes()),
        gelu_input(host.gelu_input.data(), host.gelu_input.bytes()),
        product(host.product) {
    product.a.values = a.data();
    product.b.values = b.data();
    product.c.values = c.data();
    product.added = host.adds_to_c ? c.data() : added.data();
    product.bias = bias.data();
    product.gelu_input = gelu_input.data();
  }
  /// Copies the outputs of the product to `host`.
  void get_into(HostProduct& host) const {
    c.get(host.c.data());
    gelu_input.get(host.gelu_input.data());
  }

  DeviceBuffer a, b, c, added, bias, gelu_input;
  MatrixProduct product;
};

/// Returns the relative error that is allowed. A GELU and its derivative may use the device's tanh.
float precision_of(const MatrixProduct& product) {
  if (product.c.type == ElementType::bfloat16) return 1e-2F;
  return product.gelu_input ? 4e-3F : 1e-4F;
}

/// Compares whole buffers, including the memory between rows and matrices that no product writes.
void expect_near(const HostElements& got, const HostElements& expected,
                 const MatrixProduct& product, const std::string& what) {
  const ElementType type = product.c.type;
  const float precision = precision_of(product);
  const auto count = static_cast<std::int64_t>(expected.bytes() / element_bytes(type));
  for (std::int64_t i = 0; i < count; ++i) {
    const float e = element(expected.data(), type, i), g = element(got.data(), type, i);
    ASSERT_NEAR(g, e, precision * (1 + std::abs(e))) << what << ", element " << i;
  }
}

/// Returns whether the library may have no kernel: for fused operations with a float32 result or
/// odd sizes, for two fused operations, and for a single row or column.
bool may_be_missing(const MatrixProduct& p, bool round_sizes) {
  const bool is_fused = p.epilogue != Epilogue::none;
  const bool is_single = p.c.rows == 1 || p.c.columns == 1 || p.b.rows == 1 || p.b.columns == 1;
  const bool is_rare = p.epilogue == Epilogue::gelu_gradient && p.added;
  return is_single || is_rare || (is_fused && (!round_sizes || p.c.type == ElementType::float32));
}

TEST_F(BlasLtTest, RandomProductsAreThoseOfTheHost) {
  auto products = open_blas_lt(driver());
  ASSERT_TRUE(products) << products.error().message;
  const DeviceTask task{.stream = stream()};
  for (std::uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool round_sizes = seed % 2 == 0;
    HostProduct expected = random_product(random, 100, round_sizes);
    const DeviceProduct on_device(expected);
    const auto ok = (*products)->multiply(on_device.product, task);
    if (!ok && may_be_missing(expected.product, round_sizes)) {
      EXPECT_EQ(ok.error().code, ErrorCode::not_found);
      continue;
    }
    ASSERT_TRUE(ok) << ok.error().message;
    ASSERT_TRUE(driver().synchronize(task.stream));
    HostProduct got = expected;
    on_device.get_into(got);
    multiply_on_host(expected.product);
    expect_near(got.c, expected.c, expected.product, "c");
    expect_near(got.gelu_input, expected.gelu_input, expected.product, "gelu_input");
  }
}

/// Returns a product with a long inner size and a small result, which the library splits.
HostProduct split_product(ElementType type_of_c, bool adds_to_c) {
  HostProduct made;
  MatrixProduct& p = made.product;
  p.a = {.type = ElementType::bfloat16, .rows = 4096, .columns = 64};
  p.b = {.type = ElementType::bfloat16, .rows = 4096, .columns = 64};
  p.c = {.type = type_of_c, .rows = 64, .columns = 64};
  p.transpose_a = true;
  made.a = made.b = HostElements(ElementType::bfloat16, 4096 * 64);
  made.c = HostElements(type_of_c, 64 * 64);
  made.adds_to_c = adds_to_c;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (HostElements* operand : {&made.a, &made.b})
    for (std::int64_t i = 0; i < 4096 * 64; ++i)
      set_element(operand->data(), ElementType::bfloat16, i, uniform(random));
  made.point();
  return made;
}

TEST_F(BlasLtTest, TheBitsDoNotDependOnTheStream) {
  auto products = open_blas_lt(driver());
  ASSERT_TRUE(products) << products.error().message;
  // The second is a gradient that accumulates over batches.
  for (const HostProduct& made :
       {split_product(ElementType::bfloat16, false), split_product(ElementType::float32, true)}) {
    constexpr std::uint32_t kLanes = 4;
    std::vector<DeviceTask> tasks;
    std::vector<DeviceProduct> copies;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      tasks.push_back({.stream = stream(), .lane = lane});
      copies.emplace_back(made);
    }
    for (int round = 0; round < 20; ++round) {
      for (std::uint32_t lane = 0; lane < kLanes; ++lane)
        ASSERT_TRUE((*products)->multiply(copies[lane].product, tasks[lane]));
    }
    HostProduct first = made;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      ASSERT_TRUE(driver().synchronize(tasks[lane].stream));
      HostProduct got = made;
      copies[lane].get_into(got);
      if (lane == 0) first = got;
      EXPECT_EQ(std::memcmp(got.c.data(), first.c.data(), first.c.bytes()), 0) << "lane " << lane;
    }
  }
}

TEST_F(BlasLtTest, RefusesSizesThatDoNotFit) {
  auto products = open_blas_lt(driver());
  ASSERT_TRUE(products) << products.error().message;
  std::mt19937_64 random(1);
  const HostProduct made = random_product(random, 8, true);
  DeviceProduct on_device(made);
  on_device.product.c.rows += 1;
  const auto ok = (*products)->multiply(on_device.product, {.stream = stream()});
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace hocket
