#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Embedding, TakesRows) {
  const Numbers table = numbers_of({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(result(Kind::embedding, {table, whole({2, 2}, {2, 0, 0, 1})}),
            numbers_of({2, 2, 2}, {5, 6, 1, 2, 1, 2, 3, 4}));
}

TEST(Embedding, GradientIsItsTranspose) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t rows = random_between(random, 1, 6);
    const Numbers table = random_numbers(random, {rows, random_between(random, 1, 4)});
    const Numbers indices = random_indices(random, random_shape(random, 0, 3), rows);
    const Numbers y = result(Kind::embedding, {table, indices});
    const Numbers dy = random_numbers(random, y.type.shape);
    const Numbers dtable = result(Kind::embedding_gradient, {indices, dy}, {{"rows", rows}});
    EXPECT_NEAR(inner_product(y, dy), inner_product(table, dtable), 1e-10);
  }
}

TEST(Embedding, RefusesRowsThatThereAreNot) {
  const auto error = [](Kind kind, const Numbers& one, const Numbers& other,
                        const Attributes& attributes = {}) {
    const auto found = try_operation(kind, {one, other}, attributes);
    return found ? "none" : found.error().message;
  };
  const Numbers x = numbers_of({2, 3}, {1, 2, 3, 4, 5, 6});
  const Attributes rows{{"rows", std::int64_t{4}}}, size{{"size", std::int64_t{4}}};
  for (const double wrong : {-1.0, 4.0}) {
    EXPECT_THAT(error(Kind::embedding_gradient, whole({2}, {0, wrong}), x, rows),
                HasSubstr("embedding_gradient: indices: expected numbers from 0 to 3"));
    EXPECT_THAT(error(Kind::top_k_gradient, whole({2, 3}, {0, 1, 2, wrong, 1, 2}), x, size),
                HasSubstr("top_k_gradient: indices: expected numbers from 0 to 3"));
    EXPECT_THAT(error(Kind::cross_entropy, x, whole({2}, {wrong, 0})),
                HasSubstr("cross_entropy: targets: expected numbers from 0 to 2"));
    const Numbers rows_of_2 = numbers_of({2}, {1, 1});
    const auto found = try_operation(Kind::cross_entropy_gradient,
                                     {x, whole({2}, {0, wrong}), rows_of_2, rows_of_2});
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr("at place 1"));
  }
}

TEST(CrossEntropy, IsTheLogarithmOfSoftmax) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape(random, 0, 3);
    const std::int64_t classes = random_between(random, 1, 6);
    const Numbers targets = random_indices(random, shape, classes);
    shape.push_back(classes);
    const Numbers logits = random_numbers(random, shape, -5, 5);
    const Numbers shares = result(Kind::softmax, {logits});
    const auto found = results(Kind::cross_entropy, {logits, targets});
    for (std::size_t row = 0; row < targets.values.size(); ++row) {
      const std::size_t place =
          row * static_cast<std::size_t>(classes) + static_cast<std::size_t>(targets.values[row]);
      EXPECT_NEAR(found[0].values[row], -std::log(shares.values[place]), 1e-10);
      EXPECT_NEAR(found[1].values[row] - logits.values[place], found[0].values[row], 1e-10);
    }
  }
}

// PyTorch 2.13 in float64: cross_entropy, and its gradient with 1 and −2.
TEST(CrossEntropy, IsThatOfPyTorch) {
  const Numbers logits = waves({2, 3}, 1.9), targets = whole({2}, {2, 0});
  const auto y = results(Kind::cross_entropy, {logits, targets});
  expect_near(y[0].values, {2.0963752643174516, 1.8888464132771823});
  const Numbers dx =
      result(Kind::cross_entropy_gradient, {logits, targets, y[1], numbers_of({2}, {1, -2})});
  expect_near(dx.values, {0.270150602490664, 0.6069482916387683, -0.8770988941294322,
                          1.6975076323435268, -1.2931371697288623, -0.40437046261466425});
}

TEST(CrossEntropy, IsExactForLargeLogits) {
  const Numbers logits = numbers_of({1, 2}, {1e8, 1e8 - 20});
  EXPECT_NEAR(result(Kind::cross_entropy, {logits, whole({1}, {0})}).values[0], std::exp(-20),
              1e-16);
  EXPECT_NEAR(result(Kind::cross_entropy, {logits, whole({1}, {1})}).values[0], 20, 1e-7);
}

TEST(CrossEntropy, ARowOfNothingHasTheLogarithmOf0) {
  const auto y =
      results(Kind::cross_entropy, {numbers_of({1, 2}, {-INFINITY, -INFINITY}), whole({1}, {0})});
  EXPECT_EQ(y[1].values[0], -INFINITY);
}

TEST(TopK, TakesTheLargestAndOfEqualOnesTheFirst) {
  const Numbers x = numbers_of({2, 4}, {1, 3, 3, 2, 0, -1, 0, 0});
  const auto y = results(Kind::top_k, {x}, {{"count", std::int64_t{3}}});
  EXPECT_EQ(y[0], numbers_of({2, 3}, {3, 3, 2, 0, 0, 0}));
  EXPECT_EQ(y[1], whole({2, 3}, {1, 2, 3, 0, 2, 3}));
  const auto odd = results(Kind::top_k, {numbers_of({3}, {INFINITY, 1, std::nan("")})},
                           {{"count", std::int64_t{3}}});
  EXPECT_THAT(odd[1].values, ElementsAre(2, 0, 1));
}

TEST(TopK, LeavesNothingLarger) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t size = random_between(random, 1, 8);
    const std::int64_t count = random_between(random, 1, size);
    Numbers x = random_indices(random, {size}, 5);
    x.type.numbers = NumberType::float32;
    const auto y = results(Kind::top_k, {x}, {{"count", count}});
    std::vector<double> sorted = x.values;
    std::sort(sorted.rbegin(), sorted.rend());
    sorted.resize(static_cast<std::size_t>(count));
    EXPECT_EQ(y[0].values, sorted);
    EXPECT_EQ(std::set(y[1].values.begin(), y[1].values.end()).size(), sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      EXPECT_EQ(x.values[static_cast<std::size_t>(y[1].values[i])], sorted[i]);
  }
}

TEST(TopK, GradientIsItsTranspose) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape(random, 1));
    const std::int64_t size = x.type.shape.back();
    const auto y = results(Kind::top_k, {x}, {{"count", random_between(random, 1, size)}});
    const Numbers dy = random_numbers(random, y[0].type.shape);
    const Numbers dx = result(Kind::top_k_gradient, {y[1], dy}, {{"size", size}});
    EXPECT_EQ(dx.type, x.type);
    EXPECT_NEAR(inner_product(y[0], dy), inner_product(x, dx), 1e-12);
    double sum = 0, dsum = 0;
    for (const double each : dy.values) sum += std::abs(each);
    for (const double each : dx.values) dsum += std::abs(each);
    EXPECT_NEAR(sum, dsum, 1e-12);
  }
}

}  // namespace
}  // namespace hocket
