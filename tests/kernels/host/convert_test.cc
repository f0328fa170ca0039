#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/host/narrow_numbers.h"
#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using Narrow = std::vector<std::uint16_t>;

constexpr NumberType kFloating[] = {NumberType::float32, NumberType::bfloat16, NumberType::float16};

/// Converts numbers, of which `y` gets as many.
template <class From, class To>
void convert_all(NumberType from, const std::vector<From>& x, NumberType to, std::vector<To>& y) {
  const Shape shape{std::ssize(x)};
  const KernelSignature signature{Kind::convert, {{"type", to}}, {{from, shape}}, {{to, shape}}};
  const auto kernel = host_kernels().make(signature, KernelDevice::host);
  ASSERT_TRUE(kernel) << kernel.error().message;
  y.assign(x.size(), To());
  const void* const operands[] = {x.data()};
  void* const results[] = {y.data()};
  const KernelCall call{operands, results};
  Random random(x.size());
  for (const UnitRange range : random_ranges(random, (*kernel)->units()))
    ASSERT_TRUE((*kernel)->run(call, range));
}

bool is_none(float x) {
  return std::isnan(x);
}

/// All numbers of 16 bits.
Narrow all_narrow() {
  Narrow all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

TEST(HostConvert, WidensEachNumberExactly) {
  const Narrow all = all_narrow();
  std::vector<float> wide;
  convert_all(NumberType::bfloat16, all, NumberType::float32, wide);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(wide[i]), static_cast<std::uint32_t>(i) << 16);
  convert_all(NumberType::float16, all, NumberType::float32, wide);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31), mantissa = static_cast<int>(i & 1023);
    if (exponent == 31 && mantissa != 0) {
      EXPECT_TRUE(is_none(wide[i]));
      continue;
    }
    double value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) value = INFINITY;
    EXPECT_EQ(static_cast<double>(wide[i]), i >> 15 == 0 ? value : -value) << i;
    EXPECT_EQ(std::signbit(wide[i]), i >> 15 != 0);
  }
}

TEST(HostConvert, RoundsToTheNearestNumber) {
  Random random(1);
  std::vector<float> x = {0.0f,   -0.0f, INFINITY, -INFINITY, NAN,    65504,   65519.99f, 65520,
                          -65520, 6e-8f, 2.98e-8f, 2.99e-8f,  -3e-8f, 6.1e-5f, 3.4e38f,   1e-45f};
  for (std::uint64_t i = 0; i < rounds(200000); ++i) {
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
      ASSERT_EQ(std::signbit(back[i]), std::signbit(x[i]));
    }
  }
}

TEST(HostConvert, BetweenNarrowTypes) {
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

TEST(HostConvert, KeepsTheBitsOfOneType) {
  Narrow y;
  convert_all(NumberType::float16, all_narrow(), NumberType::float16, y);
  EXPECT_EQ(y, all_narrow());
  convert_all(NumberType::bfloat16, all_narrow(), NumberType::bfloat16, y);
  EXPECT_EQ(y, all_narrow());
  Random random(2);
  expect_as_interpreted(
      {Kind::convert, {random_numbers(random, {3, 40})}, {{"type", NumberType::float32}}, 1e-30},
      random);
}

TEST(HostConvert, IsInPlaceWhereNumbersAreAsLong) {
  for (const NumberType from : kFloating) {
    for (const NumberType to : kFloating) {
      const KernelSignature signature{Kind::convert, {{"type", to}}, {{from, {4}}}, {{to, {4}}}};
      const auto kernel = host_kernels().make(signature, KernelDevice::host);
      ASSERT_TRUE(kernel);
      EXPECT_EQ((*kernel)->in_place().size(), number_bytes(from) == number_bytes(to) ? 1u : 0u);
    }
  }
}

}  // namespace
}  // namespace hocket
