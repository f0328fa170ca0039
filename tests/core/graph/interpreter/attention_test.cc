#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// The groups of keys or values, repeated for the heads that use them.
Numbers repeated(const Numbers& x, std::int64_t heads) {
  const Shape& shape = x.type.shape;
  const std::int64_t each = heads / shape[1];
  const Numbers apart =
      result(Kind::reshape, {x}, {{"shape", Shape{shape[0], shape[1], 1, shape[2], shape[3]}}});
  const Numbers all = result(Kind::broadcast, {apart},
                             {{"shape", Shape{shape[0], shape[1], each, shape[2], shape[3]}}});
  return result(Kind::reshape, {all}, {{"shape", Shape{shape[0], heads, shape[2], shape[3]}}});
}

struct RandomAttention {
  explicit RandomAttention(std::uint64_t seed) : random(seed) {
    const auto some = [&] { return random_between(random, 1, 3); };
    const std::int64_t batch = some(), groups = some(), rows = some(), width = some();
    const std::int64_t columns = rows + random_between(random, 0, 3);
    queries = random_numbers(random, {batch, groups * some(), rows, width});
    keys = random_numbers(random, {batch, groups, columns, width});
    values = random_numbers(random, {batch, groups, columns, some()});
    is_causal = random() % 2 == 0;
    scale = random() % 2 == 0 ? 0 : 0.7;
  }
  Attributes attributes() const { return {{"causal", is_causal}, {"scale", scale}}; }

  Random random;
  Numbers queries, keys, values;
  bool is_causal = false;
  double scale = 0;
};

TEST(Attention, IsSoftmaxOfMaskedScores) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    const RandomAttention of(seed);
    const Shape& shape = of.queries.type.shape;
    const std::int64_t rows = shape[2], columns = of.keys.type.shape[2];
    const double scale = of.scale == 0 ? 1 / std::sqrt(static_cast<double>(shape[3])) : of.scale;
    Numbers scores = result(
        Kind::scale,
        {result(Kind::matmul, {of.queries, repeated(of.keys, shape[1])}, {{"transpose_b", true}})},
        {{"factor", scale}});
    const std::vector<Shape> indices = indices_of(scores.type.shape);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (of.is_causal && indices[i][3] > indices[i][2] + columns - rows)
        scores.values[i] = -INFINITY;
    }
    const Numbers shares = result(Kind::softmax, {scores});
    const auto found = results(Kind::attention, {of.queries, of.keys, of.values}, of.attributes());
    expect_near(found[0], result(Kind::matmul, {shares, repeated(of.values, shape[1])}));
    const Numbers sums = result(
        Kind::logarithm,
        {result(Kind::sum, {result(Kind::exponential, {scores})}, {{"dimensions", Shape{-1}}})});
    expect_near(found[1], sums);
  }
}

TEST(Attention, GradientOfGroupsIsTheSumOfTheirHeads) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    RandomAttention of(seed);
    const auto y = results(Kind::attention, {of.queries, of.keys, of.values}, of.attributes());
    const Numbers dy = random_numbers(of.random, y[0].type.shape);
    const std::int64_t heads = of.queries.type.shape[1], groups = of.keys.type.shape[1];
    const auto grouped = results(Kind::attention_gradient,
                                 {of.queries, of.keys, of.values, y[0], y[1], dy}, of.attributes());
    const auto apart =
        results(Kind::attention_gradient,
                {of.queries, repeated(of.keys, heads), repeated(of.values, heads), y[0], y[1], dy},
                of.attributes());
    expect_near(grouped[0], apart[0]);
    for (const std::size_t i : {1, 2}) {
      Shape shape = grouped[i].type.shape;
      shape.insert(shape.begin() + 2, heads / groups);
      const Numbers by_group = result(Kind::reshape, {apart[i]}, {{"shape", shape}});
      expect_near(grouped[i], result(Kind::sum, {by_group}, {{"dimensions", Shape{2}}}));
    }
  }
}

// PyTorch 2.13 in float64: scaled_dot_product_attention of two heads with one group, in which row i
// sees columns up to i + 1, and its gradients.
TEST(Attention, IsThatOfPyTorch) {
  const Numbers queries = waves({1, 2, 2, 2}, 0.7), keys = waves({1, 1, 3, 2}, 1.1);
  const Numbers values = waves({1, 1, 3, 1}, 1.7), dy = waves({1, 2, 2, 1}, 0.9);
  const Attributes causal{{"causal", true}};
  const auto y = results(Kind::attention, {queries, keys, values}, causal);
  expect_near(y[0].values,
              {0.41822588371215713, 0.4076037377025515, 0.6399333814684834, -0.06057202295400835});
  const auto dx =
      results(Kind::attention_gradient, {queries, keys, values, y[0], y[1], dy}, causal);
  expect_near(dx[0].values, {0.00922849286148218, -0.016968654403540374, 0.13412911859828838,
                             -0.09292747897116813, 0.0891765790430899, -0.16397114603490726,
                             0.08009282627286561, 0.02356407594258106});
  expect_near(dx[1].values, {-0.13040668822817983, -0.027911351205951493, 0.12950463555587166,
                             0.016752374125497252, 0.0009020526723082095, 0.011158977080454234});
  expect_near(dx[2].values, {0.8880899872165395, 1.0187576589882006, 0.3157449930933038});
}

TEST(Rotary, TurnsPairsByTheirPosition) {
  const Numbers row = numbers_of({4}, {1, 2, 3, 4});
  const Numbers x = result(Kind::broadcast, {row}, {{"shape", Shape{2, 2, 4}}});
  const Numbers y = result(Kind::rotary, {x}, {{"base", 100.0}});
  // The pairs (1, 3) and (2, 4) are not turned at position 0, and by 1 and 0.1 at position 1.
  const std::vector<double> at_1 = {
      std::cos(1) - 3 * std::sin(1), 2 * std::cos(0.1) - 4 * std::sin(0.1),
      3 * std::cos(1) + std::sin(1), 4 * std::cos(0.1) + 2 * std::sin(0.1)};
  std::vector<double> expected;
  for (int batch = 0; batch < 2; ++batch) {
    expected.insert(expected.end(), row.values.begin(), row.values.end());
    expected.insert(expected.end(), at_1.begin(), at_1.end());
  }
  expect_near(y.values, expected);
}

TEST(Rotary, TurnsBackAndKeepsLengths) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape(random, 1);
    shape.push_back(2 * random_between(random, 1, 4));
    const Numbers x = random_numbers(random, shape), other = random_numbers(random, shape);
    const Numbers y = result(Kind::rotary, {x});
    expect_near(result(Kind::rotary, {y}, {{"inverse", true}}), x);
    EXPECT_NEAR(inner_product(y, y), inner_product(x, x), 1e-10);
    EXPECT_NEAR(inner_product(y, other),
                inner_product(x, result(Kind::rotary, {other}, {{"inverse", true}})), 1e-10);
  }
}

TEST(Rotary, ProductsDependOnTheDistanceOfPositions) {
  Random random(1);
  const Numbers query = random_numbers(random, {1, 6}), key = random_numbers(random, {1, 6});
  const auto all = [](const Numbers& row) {
    return result(Kind::rotary, {result(Kind::broadcast, {row}, {{"shape", Shape{9, 6}}})});
  };
  const Numbers products = result(Kind::matmul, {all(query), all(key)}, {{"transpose_b", true}});
  for (std::int64_t i = 0; i + 1 < 9; ++i) {
    for (std::int64_t j = 0; j + 1 < 9; ++j)
      EXPECT_NEAR(at(products, {i, j}), at(products, {i + 1, j + 1}), 1e-12);
  }
  EXPECT_GT(std::abs(at(products, {0, 0}) - at(products, {0, 3})), 1e-3);
}

}  // namespace
}  // namespace hocket
