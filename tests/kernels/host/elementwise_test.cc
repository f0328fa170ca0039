#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/host/compared.h"
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

bool needs_positive(Kind kind) {
  return kind >= Kind::logarithm && kind <= Kind::reciprocal_square_root;
}

/// The shape with random dimensions of size 1, and perhaps without some of the outermost.
Shape random_part(Random& random, Shape shape) {
  for (std::int64_t& size : shape)
    if (random() % 3 == 0) size = 1;
  if (random() % 3 == 0) shape.erase(shape.begin(), shape.begin() + std::ssize(shape) / 2);
  return shape;
}

TEST(HostElementwise, OfOneOperand) {
  for (const Kind kind : kUnary) {
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const Shape shape = random_shape_up_to(random, 0, 3, 40);
      const double low = needs_positive(kind) ? 0.01 : -3;
      expect_as_interpreted({kind, {random_numbers(random, shape, low, 3)}, attributes_of(kind)},
                            random);
    }
  }
}

// Beyond the largest exponential, of the largest numbers, and of what is none.
TEST(HostElementwise, OfAllNumbers) {
  Random random(1);
  std::vector<double> values = {0,    -0.0,  1e-30, -1e-30, 1e-5, -1e-5, 60.5, -60.5, 86.9, -86.9,
                                87.5, -87.5, 88.6,  88.8,   -103, -105,  300,  -300,  1e4,  -1e4};
  for (const double each : {INFINITY, -INFINITY, NAN}) values.push_back(each);
  for (int i = 0; i < 2000; ++i) {
    values.push_back(std::uniform_real_distribution(-110.0, 110.0)(random));
    values.push_back(std::ldexp(std::uniform_real_distribution(-1.0, 1.0)(random),
                                static_cast<int>(random_between(random, -20, 5))));
  }
  const Numbers x = numbers_of({std::ssize(values)}, values);
  for (const Kind kind : kUnary) {
    // Errors are those of the numbers themselves here, with less than a denormal one beside.
    OperationCase each{kind, {x}, attributes_of(kind), 1e-30};
    // Near 1 the exponential in these kinds is no more exact than its argument.
    if (kind == Kind::gelu || kind == Kind::silu || kind == Kind::sigmoid) each.magnitude = 1;
    if (kind == Kind::exponential) each.magnitude = 1e-37;
    expect_as_interpreted(each, random);
  }
  for (const Kind kind : kGradients) {
    if (kind == Kind::relu_gradient)
      expect_as_interpreted({kind, {x, random_numbers(random, x.type.shape)}}, random);
  }
}

TEST(HostElementwise, TanhIsExactNearZero) {
  Random random(2);
  Numbers x = random_numbers(random, {3000}, -1, 1);
  for (std::size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = std::ldexp(x.values[i], -static_cast<int>(i % 24));
  expect_as_interpreted({Kind::tanh, {x}, {}, 1e-30}, random);
}

TEST(HostElementwise, OfRepeatedOperands) {
  for (const Kind kind : kBinary) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const Shape shape = random_shape_up_to(random, 0, 5, 9);
      Shape a = shape, b = random_part(random, shape);
      if (random() % 2 == 0) a = random_part(random, shape);
      if (random() % 2 == 0) std::swap(a, b);
      const double low = kind == Kind::divide ? 0.2 : -2;
      expect_as_interpreted(
          {kind, {random_numbers(random, a), random_numbers(random, b, low, 2)}, {}, 10}, random);
    }
  }
}

TEST(HostElementwise, OfLongRows) {
  Random random(3);
  for (const Kind kind : kBinary) {
    const Numbers x = random_numbers(random, {7, 1000});
    for (const Shape& other : {Shape{7, 1000}, Shape{1000}, Shape{7, 1}, Shape{}})
      expect_as_interpreted({kind, {x, random_numbers(random, other, 0.5, 2)}}, random);
  }
}

TEST(HostElementwise, OperandsMayBeOne) {
  Random random(4);
  const OperationCase each{Kind::multiply,
                           {random_numbers(random, {50}), random_numbers(random, {50})}};
  const KernelSignature signature = signature_of(each);
  const auto kernel = host_kernels().make(signature, KernelDevice::host);
  ASSERT_TRUE(kernel);
  std::vector<float> x(50, 3), y(50);
  const void* const operands[] = {x.data(), x.data()};
  void* const results[] = {y.data()};
  ASSERT_TRUE((*kernel)->run({operands, results}));
  EXPECT_EQ(y, std::vector<float>(50, 9));
}

TEST(HostElementwise, Gradients) {
  for (const Kind kind : kGradients) {
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const Shape shape = random_shape_up_to(random, 0, 3, 30);
      Numbers x = random_numbers(random, shape, -8, 8);
      x.values[0] = 0;
      expect_as_interpreted({kind, {x, random_numbers(random, shape)}}, random);
    }
  }
}

TEST(HostElementwise, Select) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape_up_to(random, 0, 4, 9);
    Numbers condition = random_numbers(random, random_part(random, shape));
    for (double& each : condition.values)
      if (random() % 2 == 0) each = 0;
    expect_as_interpreted({Kind::select,
                           {condition, random_numbers(random, shape),
                            random_numbers(random, random_part(random, shape))}},
                          random);
  }
}

}  // namespace
}  // namespace hocket
