// Elementwise operations, and dropout.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/base/check.h"
#include "core/graph/interpreter/computation.h"
#include "core/graph/interpreter/multi_index.h"
#include "core/graph/interpreter/philox.h"

namespace hocket {
namespace {

using Kind = OperationKind;

double sigmoid_of(double x) {
  // No exponential of a large number, which would be infinite.
  const double e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

const double kGeluScale = std::sqrt(2 / std::numbers::pi);
constexpr double kGeluCube = 0.044715;

double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(kGeluScale * (x + kGeluCube * x * x * x)));
}

double gelu_slope(double x) {
  const double t = std::tanh(kGeluScale * (x + kGeluCube * x * x * x));
  const double slope = kGeluScale * (1 + 3 * kGeluCube * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

double silu_slope(double x) {
  const double s = sigmoid_of(x);
  return s * (1 + x * (1 - s));
}

}  // namespace

double elementwise(Kind kind, double x) {
  switch (kind) {
    case Kind::exponential:
      return std::exp(x);
    case Kind::logarithm:
      return std::log(x);
    case Kind::square_root:
      return std::sqrt(x);
    case Kind::reciprocal_square_root:
      return 1 / std::sqrt(x);
    case Kind::tanh:
      return std::tanh(x);
    case Kind::sigmoid:
      return sigmoid_of(x);
    case Kind::relu:
      return x <= 0 ? 0 : x;  // what is not a number stays so
    case Kind::gelu:
      return gelu_of(x);
    case Kind::silu:
      return x * sigmoid_of(x);
    case Kind::convert:
      return x;  // its type rounds it, if anything does
    default:
      HOCKET_CHECK(false, "an elementwise operation with one operand");
      return 0;
  }
}

double elementwise(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::add:
      return a + b;
    case Kind::subtract:
      return a - b;
    case Kind::multiply:
      return a * b;
    case Kind::divide:
      return a / b;
    case Kind::swiglu:
      return a * sigmoid_of(a) * b;
    case Kind::relu_gradient:
      return a <= 0 ? 0 : b;
    case Kind::gelu_gradient:
      return gelu_slope(a) * b;
    case Kind::silu_gradient:
      return silu_slope(a) * b;
    default:
      HOCKET_CHECK(false, "an elementwise operation with two operands");
      return 0;
  }
}

void compute_elementwise(Computation& computation) {
  const std::vector<double>& x = computation.x(0);
  std::vector<double>& y = computation.y();
  if (computation.kind == Kind::scale) {
    const double factor = computation.attributes.number("factor");
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * factor;
  } else if (computation.operands.size() == 1) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = elementwise(computation.kind, x[i]);
  } else {
    const Shape& shape = computation.results[0].type.shape;
    std::size_t i = 0;
    walk(shape, broadcast_strides(computation.shape(0), shape),
         broadcast_strides(computation.shape(1), shape), [&](std::size_t a, std::size_t b) {
           y[i++] = elementwise(computation.kind, x[a], computation.x(1)[b]);
         });
  }
}

void compute_select(Computation& computation) {
  const Shape& shape = computation.results[0].type.shape;
  const Strides condition = broadcast_strides(computation.shape(0), shape);
  std::vector<char> takes_a;
  walk(shape, condition, condition,
       [&](std::size_t at, std::size_t) { takes_a.push_back(computation.x(0)[at] != 0 ? 1 : 0); });
  std::size_t i = 0;
  walk(shape, broadcast_strides(computation.shape(1), shape),
       broadcast_strides(computation.shape(2), shape), [&](std::size_t a, std::size_t b) {
         computation.y()[i] = takes_a[i] != 0 ? computation.x(1)[a] : computation.x(2)[b];
         ++i;
       });
}

void compute_is_finite(Computation& computation) {
  const std::vector<double>& x = computation.x(0);
  const bool all = std::all_of(x.begin(), x.end(), [](double each) { return std::isfinite(each); });
  computation.y()[0] = all ? 1 : 0;
}

void compute_dropout(Computation& computation) {
  const std::vector<double>&x = computation.x(0), &key = computation.x(1);
  const double rate = computation.attributes.number("rate");
  const auto stream = static_cast<std::uint32_t>(computation.attributes.integer("stream"));
  // A rate below 1 of 2^32 words is below 2^32.
  const auto dropped = static_cast<std::uint32_t>(std::floor(std::ldexp(rate, 32)));
  const auto bits = [](double word) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(word));
  };
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t block = i / 4;
    if (i % 4 == 0) {
      words = philox(
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream, 0},
          {bits(key[0]), bits(key[1])});
    }
    computation.y()[i] = words[i % 4] < dropped ? 0 : x[i] / (1 - rate);
  }
}

}  // namespace hocket
