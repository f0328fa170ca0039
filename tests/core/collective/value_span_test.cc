#include "core/collective/value_span.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/core/collective/typed_values.h"

namespace hocket {
namespace {

TEST(ValueSpan, IsMadeOfWhatHasElementsOneAfterTheOther) {
  std::vector<float> floats(5);
  std::vector<BFloat16> halves(7);
  Float16 array[3] = {};
  const ValueSpan of_vector = floats, of_halves = halves, of_array = array;
  EXPECT_EQ(of_vector.type(), ElementType::float32);
  EXPECT_EQ(of_vector.size_bytes(), 20u);
  EXPECT_EQ(of_halves.type(), ElementType::bfloat16);
  EXPECT_EQ(of_halves.size_bytes(), 14u);
  EXPECT_EQ(of_array.type(), ElementType::float16);
  EXPECT_EQ(of_array.size(), 3u);
  EXPECT_EQ(of_halves.subspan(2, 4).data(), halves.data() + 2);
  EXPECT_EQ(of_halves.subspan(2, 4).size(), 4u);
  EXPECT_EQ(of_vector.as<float>().data(), floats.data());
  EXPECT_TRUE(ValueSpan().empty());
}

// A bfloat16 has 8 bits of significand, so a sum that is rounded after each addition stays at 256.
TEST(ValueSpan, SumsAreRoundedOnce) {
  TypedValues sum(ElementType::bfloat16, std::vector<float>{256});
  std::vector<TypedValues> ones(4, TypedValues(ElementType::bfloat16, std::vector<float>{1}));
  std::vector<ValueSpan> summands{sum.span()};
  for (TypedValues& one : ones) summands.push_back(one.span());
  add_up(summands, sum.span());
  EXPECT_EQ(sum[0], 260);
}

TEST(ValueSpan, SumsAreThoseOfFloat32InTheOrderOfSummands) {
  const std::uint64_t first = std::random_device()();
  for (std::uint64_t seed = first; seed < first + 60 && !HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const ElementType type = random_type(random);
    const std::size_t size = random() % 5000, members = 1 + random() % 8,
                      result = random() % members;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << size << " values of "
                                    << to_string(type) << ", " << members << " members");
    std::normal_distribution<float> normal(0, std::exp2(static_cast<float>(random() % 12)));
    std::vector<TypedValues> of_members;
    for (std::size_t m = 0; m < members; ++m) {
      TypedValues& values = of_members.emplace_back(type, size);
      for (std::size_t i = 0; i < size; ++i) values.set(i, normal(random));
    }
    std::vector<float> expected(size);
    for (std::size_t i = 0; i < size; ++i) {
      float sum = of_members[0][i];
      for (std::size_t m = 1; m < members; ++m) sum += of_members[m][i];
      expected[i] = rounded(type, sum);
    }
    std::vector<ValueSpan> summands;
    for (TypedValues& values : of_members) summands.push_back(values.span());
    add_up(summands, of_members[result].span());
    ASSERT_EQ(of_members[result].floats(), expected);
  }
}

TEST(ValueSpan, SumsKeepWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ElementType type : kElementTypes) {
    SCOPED_TRACE(to_string(type));
    TypedValues a(type, std::vector<float>{infinity, infinity, std::nanf(""), 60'000});
    TypedValues b(type, std::vector<float>{1, -infinity, 1, 60'000});
    const ValueSpan summands[] = {a.span(), b.span()};
    add_up(summands, b.span());
    EXPECT_EQ(b[0], infinity);
    EXPECT_TRUE(std::isnan(b[1]));
    EXPECT_TRUE(std::isnan(b[2]));
    EXPECT_EQ(b[3], type == ElementType::float16 ? infinity : rounded(type, 120'000));
  }
}

TEST(ValueSpan, AreMadeUndefinedAndCopied) {
  for (const ElementType type : kElementTypes) {
    TypedValues from(type, std::vector<float>{1, -2, 0.5f}), to(type, std::vector<float>{7, 7, 7});
    copy(from.span(), to.span());
    EXPECT_EQ(to.floats(), (std::vector<float>{1, -2, 0.5f}));
    make_undefined(to.span().subspan(1, 1));
    EXPECT_EQ(to[0], 1);
    EXPECT_TRUE(std::isnan(to[1]));
    EXPECT_EQ(to[2], 0.5f);
  }
}

}  // namespace
}  // namespace hocket
