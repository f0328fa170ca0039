#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

Numbers all_of(const Shape& shape, double value) {
  return numbers_of(shape, std::vector(static_cast<std::size_t>(count_of(shape)), value));
}

TEST(LayerNorm, MakesRowsOfMean0AndVariance1) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape(random, 0, 2);
    shape.push_back(random_between(random, 2, 9));
    const Numbers x = random_numbers(random, shape);
    const Shape width{shape.back()};
    const auto normal =
        results(Kind::layer_norm, {x, all_of(width, 1), all_of(width, 0)}, {{"epsilon", 0.0}});
    const auto count = static_cast<std::size_t>(width[0]);
    for (std::size_t row = 0; row < x.values.size() / count; ++row) {
      double sum = 0, squares = 0, before = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double y = normal[0].values[row * count + i];
        sum += y;
        squares += y * y;
        before += x.values[row * count + i];
        EXPECT_NEAR(y / normal[2].values[row] + normal[1].values[row], x.values[row * count + i],
                    1e-12);
      }
      EXPECT_NEAR(sum, 0, 1e-12);
      EXPECT_NEAR(squares, static_cast<double>(count), 1e-9);
      EXPECT_NEAR(normal[1].values[row], before / static_cast<double>(count), 1e-12);
    }
  }
}

// PyTorch 2.13 in float64: layer_norm and rms_norm with epsilon 0.01, and their gradients.
TEST(LayerNorm, IsThatOfPyTorch) {
  const Numbers x = waves({2, 3}, 0.7), gain = waves({3}, 1.1), bias = waves({3}, 1.3);
  const auto y = results(Kind::layer_norm, {x, gain, bias}, {{"epsilon", 0.01}});
  expect_near(y[0].values, {-0.030086060082919964, 1.2555289718075906, 1.1817279492717534,
                            0.21607699974146355, 1.052535893170863, -0.49457524194353164});
  const auto dx = results(Kind::layer_norm_gradient, {x, gain, y[1], y[2], waves({2, 3}, 0.3)});
  expect_near(dx[0].values, {-0.06098922816042713, 0.05840897469073836, 0.00258025346968848,
                             -0.3784081426668675, 0.6533581209811237, -0.2749499783142555});
  expect_near(dx[1].values, {0.8498687107293167, 0.18219754392337992, -0.5841418670496534});
  expect_near(dx[2].values, {0.9413044014547245, 1.3529765277258434, 1.643791290279196});
}

TEST(RmsNorm, IsThatOfPyTorch) {
  const Numbers x = waves({2, 3}, 0.7), gain = waves({3}, 1.1);
  const auto y = results(Kind::rms_norm, {x, gain}, {{"epsilon", 0.01}});
  expect_near(y[0].values, {0.013867811073138484, 0.9303041601133807, 1.0349847431155452,
                            0.14444655993836533, 0.39905984593085747, -0.5905459478408809});
  const auto dx = results(Kind::rms_norm_gradient, {x, gain, y[1], waves({2, 3}, 0.3)});
  expect_near(dx[0].values, {-0.052518720739874576, 0.027995203666511037, 0.005122617264269436,
                             0.22303636722671405, 1.6286955621024692, 1.2941457877141325});
  expect_near(dx[1].values, {1.2313718605782982, 0.8012484627908143, 0.10253560715786192});
}

TEST(NormGradients, AddAResidualToTheGradientOfX) {
  const Attributes with{{"residual", true}};
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape(random, 0, 2), rows = shape;
    shape.push_back(random_between(random, 1, 5));
    rows.push_back(1);
    const Numbers x = random_numbers(random, shape), dy = random_numbers(random, shape);
    const Numbers gain = random_numbers(random, {shape.back()}),
                  mean = random_numbers(random, rows);
    const Numbers inverse = random_numbers(random, rows), residual = random_numbers(random, shape);
    const auto layer = results(Kind::layer_norm_gradient, {x, gain, mean, inverse, dy});
    EXPECT_EQ(results(Kind::layer_norm_gradient, {x, gain, mean, inverse, dy, residual}, with),
              (std::vector{result(Kind::add, {layer[0], residual}), layer[1], layer[2]}));
    const auto rms = results(Kind::rms_norm_gradient, {x, gain, inverse, dy});
    EXPECT_EQ(results(Kind::rms_norm_gradient, {x, gain, inverse, dy, residual}, with),
              (std::vector{result(Kind::add, {rms[0], residual}), rms[1]}));
  }
}

TEST(RmsNorm, MakesRowsOfMeanSquare1) {
  Random random(1);
  const Numbers x = random_numbers(random, {5, 7});
  const auto y = results(Kind::rms_norm, {x, all_of({7}, 1)}, {{"epsilon", 0.0}});
  for (std::size_t row = 0; row < 5; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 7; ++i)
      squares += y[0].values[row * 7 + i] * y[0].values[row * 7 + i];
    EXPECT_NEAR(squares, 7, 1e-12);
    EXPECT_NEAR(y[0].values[row * 7], x.values[row * 7] * y[1].values[row], 1e-12);
  }
}

TEST(Softmax, SumsTo1AndMovesWithNothing) {
  for (std::uint64_t seed = 0; seed < rounds(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape(random, 1), -30, 30);
    const Numbers y = result(Kind::softmax, {x});
    const Numbers sums = result(Kind::sum, {y}, {{"dimensions", Shape{-1}}});
    for (const double sum : sums.values) EXPECT_NEAR(sum, 1, 1e-12);
    Numbers moved = x;
    for (double& each : moved.values) each += 900;
    expect_near(result(Kind::softmax, {moved}), y, 1e-9);
    // The ratio of two shares is the exponential of the difference.
    for (std::size_t i = 0; i + 1 < x.values.size(); ++i) {
      if ((i + 1) % static_cast<std::size_t>(x.type.shape.back()) == 0) continue;
      EXPECT_NEAR(std::log(y.values[i + 1] / y.values[i]), x.values[i + 1] - x.values[i], 1e-9);
    }
  }
}

TEST(Softmax, GradientIsThatOfTheDefinition) {
  const Numbers y = numbers_of({2, 2}, {0.25, 0.75, 0.5, 0.5});
  const Numbers dy = numbers_of({2, 2}, {4, 8, 1, 1});
  EXPECT_EQ(result(Kind::softmax_gradient, {y, dy}), numbers_of({2, 2}, {-0.75, 0.75, 0, 0}));
}

}  // namespace
}  // namespace hocket
