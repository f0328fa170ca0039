#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/random/philox.h"
#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::ElementsAre;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A shape that is broadcast to `shape` with others.
Shape random_part(Random& random, const Shape& shape) {
  Shape part(shape.begin() + random_between(random, 0, static_cast<std::int64_t>(shape.size())),
             shape.end());
  for (std::int64_t& size : part)
    if (random_between(random, 0, 2) == 0) size = 1;
  return part;
}

double expected_of(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::add:
      return a + b;
    case Kind::subtract:
      return a - b;
    case Kind::multiply:
      return a * b;
    case Kind::divide:
      return a / b;
    default:
      return a / (1 + std::exp(-a)) * b;
  }
}

TEST(Elementwise, BroadcastsBothOperands) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape(random);
    const Numbers a = random_numbers(random, random_part(random, shape));
    const Numbers b = random_numbers(random, random_part(random, shape), 0.5, 2);
    for (const Kind kind :
         {Kind::add, Kind::subtract, Kind::multiply, Kind::divide, Kind::swiglu}) {
      const Numbers y = result(kind, {a, b});
      ASSERT_EQ(y.type.shape, broadcast_shape(a.type.shape, b.type.shape).value());
      for (const Shape& index : indices_of(y.type.shape))
        EXPECT_NEAR(at(y, index), expected_of(kind, at(a, index), at(b, index)), 1e-12);
    }
  }
}

TEST(Elementwise, ComputesItsFunction) {
  const Numbers x = numbers_of({3}, {0.25, 1, 4});
  expect_near(result(Kind::scale, {x}, {{"factor", -2.0}}).values, {-0.5, -2, -8});
  expect_near(result(Kind::exponential, {x}).values, {std::exp(0.25), std::exp(1), std::exp(4)});
  expect_near(result(Kind::logarithm, {x}).values, {std::log(0.25), 0, std::log(4)});
  expect_near(result(Kind::square_root, {x}).values, {0.5, 1, 2});
  expect_near(result(Kind::reciprocal_square_root, {x}).values, {2, 1, 0.5});
}

// PyTorch 2.13 in float64: gelu(approximate="tanh"), silu, sigmoid, tanh and their gradients.
const Numbers& some_numbers() {
  static const Numbers numbers = numbers_of({5}, {-3.0, -0.5, 0.0, 0.25, 2.0});
  return numbers;
}

TEST(Elementwise, ComputesActivations) {
  const std::vector<Numbers> x{some_numbers()};
  expect_near(result(Kind::gelu, x).values, {-0.0036373920817729943, -0.15428599017485606, 0,
                                             0.149675350701685, 1.954597694087775});
  expect_near(result(Kind::silu, x).values, {-0.14227761953270035, -0.1887703343990727, 0,
                                             0.14054412522144952, 1.7615941559557646});
  expect_near(result(Kind::sigmoid, x).values, {0.04742587317756678, 0.3775406687981454, 0.5,
                                                0.5621765008857981, 0.8807970779778823});
  expect_near(result(Kind::tanh, x).values, {-0.9950547536867305, -0.46211715726000974, 0,
                                             0.24491866240370913, 0.9640275800758169});
  expect_near(result(Kind::relu, x).values, {0, 0, 0, 0.25, 2});
}

TEST(Elementwise, ComputesGradientsOfActivations) {
  const std::vector<Numbers> x{some_numbers(), numbers_of({5}, {2, 2, 2, 2, 2})};
  expect_near(result(Kind::gelu_gradient, x).values,
              {2 * -0.011584166630969648, 2 * 0.13263009646535764, 1, 2 * 0.6953540951510604,
               2 * 1.0860992566236183});
  expect_near(result(Kind::silu_gradient, x).values,
              {2 * -0.08810410601516962, 2 * 0.2600388126973482, 1, 2 * 0.6237100215701977,
               2 * 1.0907842487848955});
  expect_near(result(Kind::relu_gradient, x).values, {0, 0, 0, 2, 2});
}

TEST(Elementwise, LargeNumbersHaveNoInfiniteExponentials) {
  const Numbers x = numbers_of({2}, {-1e4, 1e4});
  EXPECT_THAT(result(Kind::sigmoid, {x}).values, ElementsAre(0, 1));
  EXPECT_THAT(result(Kind::silu, {x}).values, ElementsAre(0, 1e4));
  EXPECT_TRUE(std::isnan(result(Kind::relu, {numbers_of({}, {kNone})}).values[0]));
}

TEST(Elementwise, ConvertsByRounding) {
  const Numbers x = numbers_of({1}, {1.001});
  const Attributes to{{"type", NumberType::bfloat16}};
  EXPECT_EQ(result(Kind::convert, {x}, to), numbers_of({1}, {1.001}, NumberType::bfloat16));
  EXPECT_EQ(result(Kind::convert, {x}, to, {.rounds_values = true}).values[0], 1);
}

TEST(Select, TakesAWhereTheConditionIsNot0) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape(random);
    Numbers condition = random_indices(random, random_part(random, shape), 2);
    condition.type.numbers = NumberType::float32;
    const Numbers a = random_numbers(random, random_part(random, shape));
    const Numbers b = random_numbers(random, random_part(random, shape));
    const Numbers y = result(Kind::select, {condition, a, b});
    for (const Shape& index : indices_of(y.type.shape))
      EXPECT_EQ(at(y, index), at(condition, index) != 0 ? at(a, index) : at(b, index));
  }
}

TEST(Select, KeepsAllNumbers) {
  const double infinity = std::numeric_limits<double>::infinity();
  // A condition that is no number is not 0. An operand that is not taken does not matter.
  const Numbers condition = numbers_of({5}, {kNone, -0.0, 0, 1e-300, -1});
  EXPECT_THAT(result(Kind::select, {condition, numbers_of({5}, {1, kNone, infinity, 4, -infinity}),
                                    numbers_of({5}, {kNone, 2, 3, infinity, kNone})})
                  .values,
              ElementsAre(1, 2, 3, 4, -infinity));
}

TEST(IsFinite, Is1OnlyIfAllNumbersAre) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(result(Kind::is_finite, {numbers_of({2, 2}, {0, -1e300, 5e-324, 1})}),
            numbers_of({}, {1}));
  for (const double wrong : {infinity, -infinity, kNone}) {
    for (std::size_t place = 0; place < 4; ++place) {
      Numbers x = numbers_of({2, 2}, {0, 1, 2, 3});
      x.values[place] = wrong;
      EXPECT_EQ(result(Kind::is_finite, {x}), numbers_of({}, {0}));
    }
  }
}

TEST(IsFinite, IsThatOfTheNumberType) {
  Numbers x = numbers_of({1}, {1e5}, NumberType::float16);
  EXPECT_EQ(result(Kind::is_finite, {x}).values[0], 1);
  EXPECT_EQ(result(Kind::is_finite, {x}, {}, {.rounds_values = true}).values[0], 0);
}

Attributes dropped(double rate, std::int64_t stream = 0) {
  return {{"rate", rate}, {"stream", stream}};
}

TEST(Dropout, KeepsNumbersByTheirPlace) {
  // The words of the known answers of Philox: number i is dropped where its word is below a bound.
  const std::uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const Numbers x = numbers_of({2, 2}, {1, 2, 3, 4}), key = whole({2}, {0, 0});
  for (const std::uint32_t word : words) {
    const double rate = word / 4294967296.0;
    const Numbers at_word = result(Kind::dropout, {x, key}, dropped(rate));
    const Numbers above = result(Kind::dropout, {x, key}, dropped(rate + 1 / 4294967296.0));
    const Numbers between = result(Kind::dropout, {x, key}, dropped(rate + 0.5 / 4294967296.0));
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(at_word.values[i], words[i] < word ? 0 : x.values[i] / (1 - rate));
      EXPECT_EQ(above.values[i] == 0, words[i] <= word);
      EXPECT_EQ(between.values[i] == 0, words[i] < word);
    }
  }
}

TEST(Dropout, CountsByFoursWithKeyAndStream) {
  const Numbers x = numbers_of({9}, std::vector<double>(9, 1.0)), key = whole({2}, {-2, 7});
  const Numbers y = result(Kind::dropout, {x, key}, dropped(0.5, 0xfffffff0));
  for (std::uint32_t i = 0; i < 9; ++i) {
    const auto words = philox({i / 4, 0, 0xfffffff0, 0}, {0xfffffffe, 7});
    EXPECT_EQ(y.values[i], words[i % 4] < 0x80000000 ? 0 : 2) << i;
  }
}

TEST(Dropout, DropsItsShareAndDependsOnKeyAndStream) {
  const std::size_t count = 100'000;
  const Numbers x = numbers_of({100'000}, std::vector<double>(count, 3.0));
  const auto kept = [&](const Numbers& key, std::int64_t stream, double rate = 0.3) {
    return result(Kind::dropout, {x, key}, dropped(rate, stream)).values;
  };
  const std::vector<double> y = kept(whole({2}, {5, 6}), 1);
  double zeros = 0, sum = 0;
  for (const double each : y) {
    zeros += each == 0;
    sum += each;
  }
  // Four standard deviations of a share, √(0.3 · 0.7 / 100,000); the key is always the same.
  EXPECT_NEAR(zeros / count, 0.3, 0.006);
  EXPECT_NEAR(sum / count, 3, 0.03);
  EXPECT_EQ(y, kept(whole({2}, {5, 6}), 1));
  EXPECT_NE(y, kept(whole({2}, {5, 7}), 1));
  EXPECT_NE(y, kept(whole({2}, {4, 6}), 1));
  EXPECT_NE(y, kept(whole({2}, {5, 6}), 2));
  EXPECT_EQ(x.values, kept(whole({2}, {5, 6}), 1, 0));
}

}  // namespace
}  // namespace hocket
