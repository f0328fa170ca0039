#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

constexpr Kind kUnary[] = {
    Kind::exponential, Kind::logarithm, Kind::square_root, Kind::reciprocal_square_root,
    Kind::tanh,        Kind::sigmoid,   Kind::relu,        Kind::gelu,
    Kind::silu,        Kind::scale};
constexpr Kind kBinary[] = {Kind::add, Kind::subtract, Kind::multiply, Kind::divide, Kind::swiglu};
constexpr Kind kGradients[] = {Kind::relu_gradient, Kind::gelu_gradient, Kind::silu_gradient};

Attributes attributes_of(Kind kind) {
  if (kind == Kind::scale) return {{"factor", -1.7}};
  return {};
}

/// The shape with random dimensions of size 1, and perhaps without some of the outermost.
Shape random_part(Random& random, Shape shape) {
  for (std::int64_t& size : shape)
    if (random() % 3 == 0) size = 1;
  if (random() % 3 == 0) shape.erase(shape.begin(), shape.begin() + std::ssize(shape) / 2);
  return shape;
}

/// A shape whose innermost dimension may be whole packs.
Shape random_packs(Random& random, std::int64_t most_rank) {
  Shape shape = random_shape_up_to(random, 0, most_rank, 6);
  if (random() % 2 == 0) shape.push_back(8 * random_between(random, 1, 3));
  return shape;
}

TEST(CudaElementwise, OfOneOperand) {
  for (const Kind kind : kUnary) {
    for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const bool is_positive = kind >= Kind::logarithm && kind <= Kind::reciprocal_square_root;
      const Numbers x = random_numbers(random, random_packs(random, 3), is_positive ? 0.01 : -3, 3);
      expect_as_interpreted({kind, {x}, attributes_of(kind)}, random);
    }
  }
}

// Beyond the largest exponential, of the largest numbers, and of what is none.
TEST(CudaElementwise, OfAllNumbers) {
  Random random(1);
  std::vector<double> values = {0,    -0.0,  1e-30, -1e-30, 1e-5, -1e-5, 60.5, -60.5, 87.5, -87.5,
                                88.6, -88.6, -103,  -105,   300,  -300,  1e4,  -1e4,  1e25, -1e25};
  for (const double each : {INFINITY, -INFINITY, NAN}) values.push_back(each);
  for (int i = 0; i < 300; ++i) {
    values.push_back(std::uniform_real_distribution(-110.0, 110.0)(random));
    values.push_back(std::ldexp(std::uniform_real_distribution(-1.0, 1.0)(random),
                                static_cast<int>(random_between(random, -20, 5))));
  }
  const Numbers x = numbers_of({std::ssize(values)}, values);
  for (const Kind kind : kUnary) {
    OperationCase each{kind, {x}, attributes_of(kind), 1e-30};
    // Near 1 the exponential in these kinds is no more exact than its argument.
    if (kind == Kind::gelu || kind == Kind::silu || kind == Kind::sigmoid) each.magnitude = 1;
    if (kind == Kind::exponential) each.magnitude = 1e-37;
    expect_as_interpreted(each, random);
  }
  Numbers finite = x;
  for (double& each : finite.values)
    if (!(std::abs(each) < 1e30)) each = 1;
  for (const Kind kind : kGradients)
    expect_as_interpreted({kind, {finite, random_numbers(random, x.type.shape)}}, random);
}

TEST(CudaElementwise, OfRepeatedOperands) {
  for (const Kind kind : kBinary) {
    for (std::uint64_t seed = 0; seed < rounds(25); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const Shape shape = random_packs(random, 4);
      Shape a = shape, b = random_part(random, shape);
      if (random() % 2 == 0) a = random_part(random, shape);
      if (random() % 2 == 0) std::swap(a, b);
      const double low = kind == Kind::divide ? 0.2 : -2;
      expect_as_interpreted(
          {kind, {random_numbers(random, a), random_numbers(random, b, low, 2)}, {}, 10}, random);
    }
  }
}

TEST(CudaElementwise, Gradients) {
  for (const Kind kind : kGradients) {
    for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const Shape shape = random_packs(random, 3);
      Numbers x = random_numbers(random, shape, -8, 8);
      x.values[0] = 0;
      expect_as_interpreted({kind, {x, random_numbers(random, shape)}}, random);
    }
  }
}

TEST(CudaElementwise, Select) {
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_packs(random, 3);
    Numbers condition = random_numbers(random, random_part(random, shape));
    for (double& each : condition.values)
      if (random() % 2 == 0) each = 0;
    expect_as_interpreted({Kind::select,
                           {condition, random_numbers(random, shape),
                            random_numbers(random, random_part(random, shape))},
                           {},
                           0},
                          random);
  }
}

Numbers random_key(Random& random) {
  const auto word = [&] {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(random())));
  };
  return whole({2}, {word(), word()});
}

// The interpreter is compared with the published generator (tests/core/graph/interpreter).
TEST(CudaDropout, DropsWhatTheInterpreterDrops) {
  for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape_up_to(random, 0, 3, 14), 1, 2);
    const double rate = seed % 4 == 0 ? 0 : std::uniform_real_distribution(0.0, 0.95)(random);
    const auto stream = static_cast<std::int64_t>(random() >> 32);
    expect_as_interpreted(
        {Kind::dropout, {x, random_key(random)}, {{"rate", rate}, {"stream", stream}}, 40}, random);
  }
}

TEST(CudaRotary, TurnsByPosition) {
  for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape_up_to(random, 1, 3, 6);
    shape.push_back(2 * random_size(random, 9));
    expect_as_interpreted(
        {Kind::rotary,
         {random_numbers(random, shape)},
         {{"base", seed % 2 == 0 ? 10000.0 : 500000.0}, {"inverse", random() % 2 == 0}}},
        random);
  }
  Random random(1);
  expect_as_interpreted({Kind::rotary, {random_numbers(random, {2000, 2})}}, random);
}

}  // namespace
}  // namespace hocket
