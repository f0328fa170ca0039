#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Some of the dimensions, counted from either end.
Shape random_dimensions(Random& random, std::size_t rank) {
  Shape dimensions;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i) {
    if (random() % 2 == 0) continue;
    dimensions.push_back(random() % 2 == 0 ? i : i - static_cast<std::int64_t>(rank));
  }
  return dimensions;
}

TEST(CudaReductions, OverAnyDimensions) {
  for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape_up_to(random, 0, 5, 5);
    const Attributes attributes{{"dimensions", random_dimensions(random, shape.size())},
                                {"keep", random() % 2 == 0}};
    const Numbers x = random_numbers(random, shape);
    expect_as_interpreted({Kind::sum, {x}, attributes, 2.0 * static_cast<double>(x.type.count())},
                          random);
    expect_as_interpreted({Kind::maximum, {x}, attributes, 1e-30}, random);
  }
}

// Several chunks of what is reduced, by rows and by columns.
TEST(CudaReductions, OfManyNumbers) {
  Random random(1);
  for (const Shape& shape : {Shape{3, 5000}, Shape{700, 5}, Shape{2, 300, 3}}) {
    const Numbers x = random_numbers(random, shape);
    for (const Shape& dimensions : {Shape{0}, Shape{1}, Shape{0, 1}}) {
      const Attributes attributes{{"dimensions", dimensions}};
      expect_as_interpreted({Kind::sum, {x}, attributes, 2e3}, random);
      expect_as_interpreted({Kind::maximum, {x}, attributes, 1e-30}, random);
    }
  }
}

TEST(CudaReductions, KeepWhatIsNoNumber) {
  Random random(2);
  for (const std::size_t place : {0, 7, 19, 39}) {
    Numbers x = random_numbers(random, {2, 20});
    x.values[place] = NAN;
    for (const Shape& dimensions : {Shape{0}, Shape{1}, Shape{0, 1}, Shape{}}) {
      expect_as_interpreted({Kind::maximum, {x}, {{"dimensions", dimensions}}, 1e-30}, random);
      expect_as_interpreted({Kind::sum, {x}, {{"dimensions", dimensions}}, 50}, random);
    }
  }
}

TEST(CudaReductions, MaximumGradient) {
  for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = seed == 0 ? Shape{3, 2500} : random_shape_up_to(random, 0, 4, 5);
    Numbers x = random_numbers(random, shape);
    for (double& each : x.values) each = std::round(each);  // some are equal
    const Numbers y =
        result(Kind::maximum, {x},
               {{"dimensions", random_dimensions(random, shape.size())}, {"keep", true}});
    expect_as_interpreted({Kind::maximum_gradient, {x, y, random_numbers(random, y.type.shape)}},
                          random);
  }
}

TEST(CudaReductions, IsFinite) {
  Random random(3);
  for (const float value : {1.0f, 3e38f, -0.0f, INFINITY, -INFINITY, NAN}) {
    for (const std::int64_t count : {1, 7, 5000}) {
      Numbers x = random_numbers(random, {count});
      x.values[random() % x.values.size()] = static_cast<double>(value);
      expect_as_interpreted({Kind::is_finite, {x}, {}, 1e-30}, random);
    }
  }
}

}  // namespace
}  // namespace hocket
