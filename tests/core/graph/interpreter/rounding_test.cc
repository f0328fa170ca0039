#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "core/graph/interpreter/interpreter.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the number of 16 bits with so many of them for the exponent and for the fraction.
double from_bits(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const auto fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1));
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * kInfinity : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign *
         std::ldexp(fraction + std::ldexp(1, fraction_bits), exponent - bias - fraction_bits);
}

void check_all_numbers(NumberType type, int exponent_bits, int fraction_bits) {
  const auto number = [&](std::uint32_t bits) {
    return from_bits(bits, exponent_bits, fraction_bits);
  };
  const std::uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const double one = number(bits);
    // Beyond the largest number lies the one that would come next, if there were more exponents.
    const double next = bits + 1 == infinity ? 2 * one - number(bits - 1) : number(bits + 1);
    const double after = bits + 1 == infinity ? kInfinity : next;
    const double middle = (one + next) / 2;
    for (const double sign : {1.0, -1.0}) {
      ASSERT_EQ(rounded(sign * one, type), sign * one);
      ASSERT_EQ(std::signbit(rounded(sign * one, type)), sign < 0);
      ASSERT_EQ(rounded(sign * middle, type), sign * (bits % 2 == 0 ? one : after)) << middle;
      ASSERT_EQ(rounded(sign * std::nextafter(middle, 0), type), sign * one) << middle;
      ASSERT_EQ(rounded(sign * std::nextafter(middle, kInfinity), type), sign * after) << middle;
    }
  }
}

TEST(Rounding, IsToTheNearestFloat16) {
  check_all_numbers(NumberType::float16, 5, 10);
}

TEST(Rounding, IsToTheNearestBfloat16) {
  check_all_numbers(NumberType::bfloat16, 8, 7);
}

TEST(Rounding, IsThatOfTheHostForFloat32) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < rounds(200'000); ++i) {
    // Numbers of all sizes, from below the least float32 to above the largest one.
    const double value = std::ldexp(std::bit_cast<double>((random() >> 2) | 0x3ff0000000000000) - 1,
                                    static_cast<int>(random() % 300) - 160) *
                         (random() % 2 == 0 ? 1 : -1);
    if (std::abs(value) > std::numeric_limits<float>::max()) continue;
    ASSERT_EQ(rounded(value, NumberType::float32), static_cast<double>(static_cast<float>(value)))
        << value;
  }
  const double most = std::numeric_limits<float>::max();
  EXPECT_EQ(rounded(most, NumberType::float32), most);
  EXPECT_EQ(rounded(0x1.fffffefffffffp127, NumberType::float32), most);
  EXPECT_EQ(rounded(0x1.ffffffp127, NumberType::float32), kInfinity);
  EXPECT_EQ(rounded(-1e300, NumberType::float32), -kInfinity);
  EXPECT_EQ(rounded(5e-324, NumberType::float32), 0);
}

TEST(Rounding, KeepsWhatHasNoNeighbours) {
  for (const NumberType type :
       {NumberType::float32, NumberType::bfloat16, NumberType::float16, NumberType::int32}) {
    EXPECT_EQ(rounded(kInfinity, type), kInfinity);
    EXPECT_EQ(rounded(-kInfinity, type), -kInfinity);
    EXPECT_TRUE(std::isnan(rounded(std::nan(""), type)));
    EXPECT_TRUE(std::signbit(rounded(-0.0, type)));
  }
  EXPECT_EQ(rounded(123456789, NumberType::int32), 123456789);
}

}  // namespace
}  // namespace hocket
