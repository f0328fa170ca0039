// Elementwise operations, and dropout.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/base/check.h"
#include "core/graph/interpreter/computation.h"
#include "core/graph/interpreter/multi_index.h"
#include "core/random/philox.h"

namespace hocket {
namespace {

using Kind = OperationKind;

const double kGeluScale = std::sqrt(2 / std::numbers::pi);
constexpr double kGeluCube = 0.044715;

template <class T>
T gelu_of(T x) {
  return 0.5 * x * (1 + tanh_of(kGeluScale * (x + kGeluCube * x * x * x)));
}

template <class T>
T gelu_slope(T x) {
  const T t = tanh_of(kGeluScale * (x + kGeluCube * x * x * x));
  const T slope = kGeluScale * (1 + 3 * T(kGeluCube) * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

template <class T>
T silu_of(T x) {
  return x * sigmoid_of(x);
}

template <class T>
T silu_slope(T x) {
  const T s = sigmoid_of(x);
  return s * (1 + x * (1 - s));
}

}  // namespace

template <class T>
T elementwise(Kind kind, T x) {
  switch (kind) {
    case Kind::exponential:
      return exponential_of(x);
    case Kind::logarithm:
      return logarithm_of(x);
    case Kind::square_root:
      return root_of(x);
    case Kind::reciprocal_square_root:
      return 1 / root_of(x);
    case Kind::tanh:
      return tanh_of(x);
    case Kind::sigmoid:
      return sigmoid_of(x);
    case Kind::relu:
      return x <= 0 ? T(0) : x;  // what is not a number stays so
    case Kind::gelu:
      return gelu_of(x);
    case Kind::silu:
      return silu_of(x);
    case Kind::convert:
      return x;  // its type rounds it, if anything does
    default:
      HOCKET_CHECK(false, "an elementwise operation with one operand");
      return 0;
  }
}

template <class T>
T elementwise(Kind kind, T a, T b) {
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
      return silu_of(a) * b;
    case Kind::relu_gradient:
      return a <= 0 ? T(0) : b;
    case Kind::gelu_gradient:
      return gelu_slope(a) * b;
    case Kind::silu_gradient:
      return silu_slope(a) * b;
    default:
      HOCKET_CHECK(false, "an elementwise operation with two operands");
      return 0;
  }
}

template double elementwise(Kind kind, double x);
template double elementwise(Kind kind, double a, double b);
template Residue elementwise(Kind kind, Residue x);
template Residue elementwise(Kind kind, Residue a, Residue b);

template <class T>
void compute_elementwise(Computation<T>& computation) {
  const std::vector<T>& x = computation.x(0);
  std::vector<T>& y = computation.y();
  if (computation.kind == Kind::scale) {
    const T factor = computation.attributes.number("factor");
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

template <class T>
void compute_select(Computation<T>& computation) {
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

template <class T>
void compute_is_finite(Computation<T>& computation) {
  const std::vector<T>& x = computation.x(0);
  const bool all = std::all_of(x.begin(), x.end(), [](T each) { return is_finite_number(each); });
  computation.y()[0] = all ? 1 : 0;
}

template <class T>
void compute_dropout(Computation<T>& computation) {
  const std::vector<T>&x = computation.x(0), &key = computation.x(1);
  const double rate = computation.attributes.number("rate");
  const auto stream = static_cast<std::uint32_t>(computation.attributes.integer("stream"));
  const T kept = 1 - T(rate);
  // A rate below 1 of 2^32 words is below 2^32.
  const auto dropped = static_cast<std::uint32_t>(std::floor(std::ldexp(rate, 32)));
  const auto bits = [](T word) { return static_cast<std::uint32_t>(whole_of(word)); };
  // Numbers are counted in the whole value, of which this may be a part.
  const Shape& shape = computation.shape(0);
  const Shape &begins = computation.attributes.integers("begins"),
              &whole = computation.attributes.integers("whole");
  const Strides strides = strides_of(whole.empty() ? shape : whole);
  std::uint64_t begin = 0;
  for (std::size_t d = 0; d < begins.size(); ++d)
    begin += static_cast<std::uint64_t>(begins[d] * strides[d]);
  walk(shape, strides_of(shape), strides, [&](std::size_t i, std::size_t offset) {
    const std::uint64_t place = begin + offset, block = place / 4;
    const auto words = philox(
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream, 0},
        {bits(key[0]), bits(key[1])});
    computation.y()[i] = words[place % 4] < dropped ? T(0) : x[i] / kept;
  });
}

HOCKET_FOR_ALL_NUMBERS(void, compute_elementwise);
HOCKET_FOR_ALL_NUMBERS(void, compute_select);
HOCKET_FOR_ALL_NUMBERS(void, compute_is_finite);
HOCKET_FOR_ALL_NUMBERS(void, compute_dropout);

}  // namespace hocket
