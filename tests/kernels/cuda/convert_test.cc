#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kernels/cuda/compared.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using Narrow = std::vector<std::uint16_t>;

/// Converts numbers, of which `y` gets as many.
template <class From, class To>
void convert_all(NumberType from, const std::vector<From>& x, NumberType to, std::vector<To>& y) {
  const Shape shape{std::ssize(x)};
  const KernelSignature signature{Kind::convert, {{"type", to}}, {{from, shape}}, {{to, shape}}};
  const auto kernel = cuda_kernels().table.make(signature, KernelDevice::cuda);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ((*kernel)->in_place().size(), sizeof(From) == sizeof(To) ? 1U : 0U);
  y.assign(x.size(), To());
  const void* const operands[] = {x.data()};
  void* const results[] = {y.data()};
  const DeviceTask task{.stream = {}, .lane = 0, .memory = nullptr};
  const RunningDeviceTask running(task);
  ASSERT_TRUE((*kernel)->run({operands, results}));
}

/// All numbers of 16 bits.
Narrow all_narrow() {
  Narrow all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

bool is_none(float x) {
  return std::isnan(x);
}

TEST(CudaConvert, RoundsToTheNearestNumber) {
  Random random(1);
  std::vector<float> x = {0.0f,   -0.0f, INFINITY, -INFINITY, NAN,    65504,   65519.99f, 65520,
                          -65520, 6e-8f, 2.98e-8f, 2.99e-8f,  -3e-8f, 6.1e-5f, 3.4e38f,   1e-45f};
  for (int i = 0; i < 5000; ++i) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    // Near what float16 has.
    x.push_back(std::ldexp(static_cast<float>(random() % 0x10000),
                           static_cast<int>(random_between(random, -45, 2))));
  }
  for (const NumberType type : {NumberType::bfloat16, NumberType::float16}) {
    Narrow narrow;
    std::vector<float> back;
    convert_all(NumberType::float32, x, type, narrow);
    convert_all(type, narrow, NumberType::float32, back);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (is_none(x[i])) {
        EXPECT_TRUE(is_none(back[i]));
        continue;
      }
      ASSERT_EQ(static_cast<double>(back[i]), rounded(static_cast<double>(x[i]), type)) << x[i];
    }
  }
}

TEST(CudaConvert, BetweenNarrowTypes) {
  const Narrow all = all_narrow();
  const NumberType types[] = {NumberType::bfloat16, NumberType::float16};
  for (const int from : {0, 1}) {
    Narrow other;
    std::vector<float> x, y;
    convert_all(types[from], all, types[1 - from], other);
    convert_all(types[from], all, NumberType::float32, x);
    convert_all(types[1 - from], other, NumberType::float32, y);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_none(x[i]))
        ASSERT_TRUE(is_none(y[i]));
      else
        ASSERT_EQ(static_cast<double>(y[i]), rounded(static_cast<double>(x[i]), types[1 - from]));
    }
  }
}

TEST(CudaConvert, KeepsTheBitsOfOneType) {
  Narrow y;
  convert_all(NumberType::float16, all_narrow(), NumberType::float16, y);
  EXPECT_EQ(y, all_narrow());
  convert_all(NumberType::bfloat16, all_narrow(), NumberType::bfloat16, y);
  EXPECT_EQ(y, all_narrow());
  Random random(2);
  expect_float32_as_interpreted(
      {Kind::convert, {random_numbers(random, {3, 40})}, {{"type", NumberType::float32}}, 1e-30},
      random);
}

}  // namespace
}  // namespace hocket
