#include "core/graph/interpreter/residue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/core/graph/same_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// A random element, and often one at the ends of the range.
Residue any_residue(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return static_cast<double>(random() % 3);
    case 1:
      return -static_cast<double>(random() % 3);
    default:
      return Residue::of_word(random());
  }
}

TEST(Residue, SumsAndProductsHaveTheLawsOfAField) {
  std::mt19937_64 random(std::random_device{}());
  for (std::uint64_t round = 0; round < rounds(2000); ++round) {
    const Residue a = any_residue(random), b = any_residue(random), c = any_residue(random);
    SCOPED_TRACE(::testing::PrintToString(a) + " " + ::testing::PrintToString(b) + " " +
                 ::testing::PrintToString(c));
    EXPECT_EQ(a + b, b + a);
    EXPECT_EQ((a + b) + c, a + (b + c));
    EXPECT_EQ(a + 0, a);
    EXPECT_EQ(a - a, 0);
    EXPECT_EQ(a - b, a + -b);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * 1, a);
    EXPECT_EQ(a * (b + c), a * b + a * c);
    EXPECT_EQ(b / b, b == 0 ? 0 : 1);
    EXPECT_EQ(a / b * b, b == 0 ? 0 : a);
  }
}

TEST(Residue, HasTheModulus2ToThe61Less1) {
  const Residue most = Residue::of_word(Residue::kModulus - 1);
  EXPECT_EQ(most, -1);
  EXPECT_EQ(most + 1, 0);
  EXPECT_EQ(most * most, 1);
  EXPECT_EQ(Residue::of_word(Residue::kModulus), 0);
  EXPECT_EQ(Residue::of_word(~std::uint64_t{0}), 7);
  EXPECT_EQ(Residue(2).power(61), 1);
  // (2^40 + 1)² = 2^80 + 2^41 + 1, and 2^80 = 2^19.
  EXPECT_EQ(Residue(0x1p40 + 1) * Residue(0x1p40 + 1), Residue(0x1p19 + 0x1p41 + 1));
}

TEST(Residue, OfANumberIsExact) {
  EXPECT_EQ(Residue(0.25) * 4, 1);
  EXPECT_EQ(Residue(-0.75) * 4, -3);
  EXPECT_EQ(Residue(1.0 / 1024) * 1024, 1);
  EXPECT_EQ(Residue(-0.0), 0);
  EXPECT_EQ(Residue(0x1p61), 1);
  // The double that is nearest to 1e-5 is this fraction.
  EXPECT_EQ(Residue(1e-5) * Residue(2).power(69), Residue(std::ldexp(1e-5, 69)));
  EXPECT_NE(Residue(1e-5) * 1e5, 1);
  for (const double tiny :
       {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(), 0x1.8p-1050})
    EXPECT_EQ(Residue(tiny) * Residue(2).power(1074), Residue(std::ldexp(tiny, 1074)));
  const double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(Residue(huge), Residue(std::ldexp(huge, -1000)) * Residue(2).power(1000));
  std::mt19937_64 random(std::random_device{}());
  for (std::uint64_t round = 0; round < rounds(2000); ++round) {
    // Few bits and exponents, so that sums and products are exact in double precision, too.
    const auto some = [&] {
      const auto digits = static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
      return std::ldexp(digits, static_cast<int>(random() % 21) - 10);
    };
    const double a = some(), b = some();
    EXPECT_EQ(Residue(a) + Residue(b), Residue(a + b)) << a << " " << b;
    EXPECT_EQ(Residue(a) - Residue(b), Residue(a - b)) << a << " " << b;
    EXPECT_EQ(Residue(a) * Residue(b), Residue(a * b)) << a << " " << b;
  }
}

TEST(Residue, IsOrderedAsTheWholeNumberThatItIs) {
  for (const double number : {0.0, 1.0, -1.0, 2147483647.0, -2147483648.0, 0x1p59, -0x1p59})
    EXPECT_EQ(static_cast<double>(Residue(number).whole()), number);
  EXPECT_EQ(Residue::of_word(Residue::kModulus / 2).whole(), (std::int64_t{1} << 60) - 1);
  EXPECT_EQ(Residue::of_word(Residue::kModulus / 2 + 1).whole(), -(std::int64_t{1} << 60) + 1);
  EXPECT_LT(Residue(-2), Residue(-1));
  EXPECT_LT(Residue(-1), Residue(0));
  EXPECT_LT(Residue(0), Residue(3));
  EXPECT_GE(Residue(3), Residue(3));
}

}  // namespace
}  // namespace hocket
