#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

Shape random_classes(Random& random, std::uint64_t seed) {
  Shape shape = random_shape_up_to(random, 0, 2, 4);
  shape.push_back(seed % 3 == 0 ? 8 * random_between(random, 1, 40) : random_size(random, 40));
  return shape;
}

TEST(CudaSoftmax, IsThatOfTheInterpreter) {
  for (std::uint64_t seed = 0; seed < rounds(15); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_classes(random, seed), -8, 8);
    expect_as_interpreted({Kind::softmax, {x}, {}, 1}, random);
    const Numbers y = result(Kind::softmax, {x});
    expect_as_interpreted({Kind::softmax_gradient, {y, random_numbers(random, x.type.shape)}},
                          random);
  }
}

TEST(CudaSoftmax, OfNumbersFarApart) {
  Random random(1);
  const Numbers x = numbers_of({5, 3}, {-INFINITY, 1, 2, 1e30, -1e30, 0, -500, 500, 499, NAN, 1, 2,
                                        -INFINITY, -INFINITY, -INFINITY});
  expect_as_interpreted({Kind::softmax, {x}, {}, 1e-30}, random);
}

TEST(CudaCrossEntropy, IsThatOfTheInterpreter) {
  for (std::uint64_t seed = 0; seed < rounds(15); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_classes(random, seed);
    const Shape rows(shape.begin(), shape.end() - 1);
    const Numbers logits = random_numbers(random, shape, -8, 8);
    const Numbers targets = random_indices(random, rows, shape.back());
    expect_as_interpreted({Kind::cross_entropy, {logits, targets}}, random);
    const auto y = results(Kind::cross_entropy, {logits, targets});
    // A rounded logarithm, of 10 at most, changes each share by as much.
    expect_as_interpreted({Kind::cross_entropy_gradient,
                           {logits, targets, y[1], random_numbers(random, rows)},
                           {},
                           8},
                          random);
  }
}

TEST(CudaCrossEntropy, OfAVocabularyAndOfLargeLogits) {
  Random random(2);
  const Numbers logits = random_numbers(random, {2, 20000}, -10, 10);
  expect_as_interpreted({Kind::cross_entropy, {logits, whole({2}, {7, 19999})}}, random);
  const Numbers large = numbers_of({2, 2}, {1e8, 1e8 - 8, 1e8, 1e8 - 24});
  expect_float32_as_interpreted({Kind::cross_entropy, {large, whole({2}, {0, 1})}, {}, 1}, random);
  const Numbers none = numbers_of({1, 3}, {-INFINITY, -INFINITY, -INFINITY});
  expect_as_interpreted({Kind::cross_entropy, {none, whole({1}, {0})}}, random);
}

TEST(CudaCrossEntropy, OfATargetThatThereIsNot) {
  Random random(3);
  const Numbers logits = random_numbers(random, {3, 4}), ones = numbers_of({3}, {1, 1, 1});
  for (const double wrong : {-1.0, 4.0, 2e9, -2e9}) {
    const Numbers targets = whole({3}, {0, 1, wrong});
    const auto losses = cuda_results({Kind::cross_entropy, {logits, targets}});
    EXPECT_FALSE(std::isnan(losses[0].values[1]));
    EXPECT_TRUE(std::isnan(losses[0].values[2]));
    const auto slopes =
        cuda_results({Kind::cross_entropy_gradient, {logits, targets, losses[1], ones}});
    // Shares alone, which are 1 together.
    double sum = 0;
    for (std::size_t i = 8; i < 12; ++i) sum += slopes[0].values[i];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

}  // namespace
}  // namespace hocket
