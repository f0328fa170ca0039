#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// A dimension, counted from either end.
std::int64_t random_dimension(Random& random, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return random_between(random, -rank, rank - 1);
}

std::vector<std::int64_t> random_order(Random& random, std::size_t size) {
  std::vector<std::int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

TEST(Reduction, IsOverItsDimensions) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape(random));
    std::vector<std::int64_t> dimensions = random_order(random, x.type.shape.size());
    dimensions.resize(
        static_cast<std::size_t>(random_between(random, 0, std::ssize(x.type.shape))));
    Shape kept = x.type.shape;
    for (const std::int64_t each : dimensions) kept[static_cast<std::size_t>(each)] = 1;
    Numbers sums = numbers_of(kept, std::vector<double>(static_cast<std::size_t>(count_of(kept))));
    Numbers maxima = sums;
    maxima.values.assign(maxima.values.size(), -10);
    for (const Shape& index : indices_of(x.type.shape)) {
      std::size_t place = 0;
      for (std::size_t d = 0; d < kept.size(); ++d)
        place = place * static_cast<std::size_t>(kept[d]) +
                static_cast<std::size_t>(kept[d] == 1 ? 0 : index[d]);
      sums.values[place] += at(x, index);
      maxima.values[place] = std::max(maxima.values[place], at(x, index));
    }
    const Attributes keep{{"dimensions", dimensions}, {"keep", true}};
    expect_near(result(Kind::sum, {x}, keep), sums);
    expect_near(result(Kind::maximum, {x}, keep), maxima);
    const Attributes no_keep{{"dimensions", dimensions}};
    expect_near(result(Kind::sum, {x}, no_keep).values, sums.values);
    expect_near(result(Kind::maximum, {x}, no_keep).values, maxima.values);
  }
}

TEST(Reduction, OfAFewNumbers) {
  const Numbers x = numbers_of({2, 3}, {1, 2, 3, -4, -5, -6});
  const Attributes inner{{"dimensions", std::vector<std::int64_t>{-1}}};
  EXPECT_EQ(result(Kind::sum, {x}, inner), numbers_of({2}, {6, -15}));
  EXPECT_EQ(result(Kind::maximum, {x}, inner), numbers_of({2}, {3, -4}));
  const Numbers odd = numbers_of({2, 3}, {1, std::nan(""), 3, -INFINITY, -INFINITY, -INFINITY});
  const Numbers y = result(Kind::maximum, {odd}, inner);
  EXPECT_TRUE(std::isnan(y.values[0]));
  EXPECT_EQ(y.values[1], -INFINITY);
}

TEST(MaximumGradient, IsDividedAmongEqualMaxima) {
  const Numbers x = numbers_of({2, 3}, {5, 1, 5, 2, 7, 3}), y = numbers_of({2, 1}, {5, 7});
  EXPECT_EQ(result(Kind::maximum_gradient, {x, y, numbers_of({2, 1}, {4, 3})}),
            numbers_of({2, 3}, {2, 0, 2, 0, 3, 0}));
}

TEST(MaximumGradient, SumsToTheGradientOfEachMaximum) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    // Whole numbers, of which some are equal.
    Numbers x = random_indices(random, random_shape(random, 1), 3);
    x.type.numbers = NumberType::float32;
    const Attributes keep{
        {"dimensions", std::vector<std::int64_t>{random_dimension(random, x.type.shape)}},
        {"keep", true}};
    const Numbers y = result(Kind::maximum, {x}, keep), dy = random_numbers(random, y.type.shape);
    const Numbers dx = result(Kind::maximum_gradient, {x, y, dy});
    expect_near(result(Kind::sum, {dx}, keep), dy);
    for (const Shape& index : indices_of(x.type.shape)) {
      if (at(x, index) != at(y, index)) {
        EXPECT_EQ(at(dx, index), 0);
      }
    }
  }
}

TEST(Layout, ReshapeKeepsTheOrder) {
  Random random(1);
  const Numbers x = random_numbers(random, {3, 4, 5});
  const Numbers y = result(Kind::reshape, {x}, {{"shape", Shape{2, 30}}});
  EXPECT_EQ(y.type.shape, (Shape{2, 30}));
  EXPECT_EQ(y.values, x.values);
}

TEST(Layout, TransposeMovesIndices) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape(random));
    const std::size_t rank = x.type.shape.size();
    const auto order = random_order(random, rank);
    std::vector<std::int64_t> inverse(rank), from_inside = order;
    for (std::size_t i = 0; i < rank; ++i)
      inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    for (std::int64_t& each : from_inside) each -= static_cast<std::int64_t>(rank);
    const Numbers y = result(Kind::transpose, {x}, {{"order", from_inside}});
    for (const Shape& index : indices_of(y.type.shape)) {
      Shape before(rank);
      for (std::size_t i = 0; i < rank; ++i) before[static_cast<std::size_t>(order[i])] = index[i];
      EXPECT_EQ(at(y, index), at(x, before));
    }
    EXPECT_EQ(result(Kind::transpose, {y}, {{"order", inverse}}), x);
  }
}

TEST(Layout, BroadcastRepeats) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape(random, 1);
    Shape part(shape.begin() + random_between(random, 0, 1), shape.end());
    if (!part.empty()) part[static_cast<std::size_t>(random()) % part.size()] = 1;
    const Numbers x = random_numbers(random, part);
    const Numbers y = result(Kind::broadcast, {x}, {{"shape", shape}});
    ASSERT_EQ(y.type.shape, shape);
    for (const Shape& index : indices_of(shape)) EXPECT_EQ(at(y, index), at(x, index));
  }
}

TEST(Layout, SlicesConcatenateToTheWhole) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape(random, 1);
    const std::int64_t dimension = random_dimension(random, shape);
    std::int64_t& size = shape[dimension_at(dimension, shape.size())];
    size += 2;
    const Numbers x = random_numbers(random, shape);
    const std::int64_t middle = random_between(random, 1, size - 1);
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return result(Kind::slice, {x}, {{"dimension", dimension}, {"begin", begin}, {"end", end}});
    };
    const Numbers first = part(0, middle), second = part(middle, size);
    EXPECT_EQ(result(Kind::concatenate, {first, second}, {{"dimension", dimension}}), x);
    for (const Shape& index : indices_of(second.type.shape)) {
      Shape before = index;
      before[dimension_at(dimension, shape.size())] += middle;
      EXPECT_EQ(at(second, index), at(x, before));
    }
  }
}

TEST(Layout, PadIsTheTransposeOfSlice) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape(random, 1));
    const std::int64_t dimension = random_dimension(random, x.type.shape);
    const std::int64_t before = random_between(random, 0, 2), after = random_between(random, 0, 2);
    const Numbers padded =
        result(Kind::pad, {x}, {{"dimension", dimension}, {"before", before}, {"after", after}});
    const std::int64_t size = x.type.shape[dimension_at(dimension, x.type.shape.size())];
    const Attributes inside{{"dimension", dimension}, {"begin", before}, {"end", before + size}};
    EXPECT_EQ(result(Kind::slice, {padded}, inside), x);
    const Numbers y = random_numbers(random, padded.type.shape);
    EXPECT_NEAR(inner_product(padded, y), inner_product(x, result(Kind::slice, {y}, inside)),
                1e-12);
  }
}

TEST(Layout, MovesIndicesToo) {
  const Numbers x = whole({1, 2}, {4, 5});
  EXPECT_EQ(result(Kind::concatenate, {x, whole({1, 1}, {6}), x}, {{"dimension", std::int64_t{1}}}),
            whole({1, 5}, {4, 5, 6, 4, 5}));
  EXPECT_EQ(result(Kind::pad, {x},
                   {{"dimension", std::int64_t{0}},
                    {"before", std::int64_t{1}},
                    {"after", std::int64_t{0}}}),
            whole({2, 2}, {0, 0, 4, 5}));
}

}  // namespace
}  // namespace hocket
