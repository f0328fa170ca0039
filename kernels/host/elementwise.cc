// Elementwise operations. Their units are the numbers of the result.

#include <cmath>
#include <type_traits>

#include "core/base/check.h"
#include "kernels/host/host_kernel.h"
#include "kernels/host/vector_maths.h"
#include "kernels/host/vectors.h"
#include "kernels/repeated.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Lets a result be in the memory of each operand that has its type.
std::vector<InPlace> in_place_of(const KernelSignature& signature) {
  std::vector<InPlace> all;
  for (std::size_t i = 0; i < signature.operands.size(); ++i)
    if (signature.operands[i] == signature.results[0]) all.push_back({0, i});
  return all;
}

KernelPlan plan_of(const KernelSignature& signature) {
  return {.units = signature.results[0].count(),
          .unit_bytes = {{.each = number_bytes(signature.results[0].numbers)}},
          .in_place = in_place_of(signature)};
}

/// y = f(x). The loops copy pointers and counts out of what holds them; otherwise the compiler does
/// not vectorise them.
template <class Function>
struct UnaryLoop {
  [[gnu::always_inline]] static inline void run(Function function, const float* x, float* y,
                                                std::int64_t count) {
    if constexpr (Function::kVectorises) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
    }
  }
};

template <class Function>
MadeKernel unary(const KernelSignature& signature, Function function) {
  return host_kernel(plan_of(signature), [function](const KernelCall& call, UnitRange range) {
    run_loop<UnaryLoop<Function>>(function, operand_of(call, 0) + range.begin,
                                  result_of(call) + range.begin, range.end - range.begin);
  });
}

/// y = f(a, b) in a row, in which an operand goes on by 1 or stays.
template <int A, int B, class Function>
[[gnu::always_inline]] inline void binary_row(Function function, const float* a, const float* b,
                                              float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = function(a[i * A], b[i * B]);
}

template <class Function>
struct BinaryLoop {
  [[gnu::always_inline]] static inline void run(const Repeated<2>* all, Function function,
                                                const float* a, const float* b, float* y,
                                                UnitRange range) {
    const bool moves_a = all->inner(0) != 0, moves_b = all->inner(1) != 0;
    each_row(
        *all, range.begin, range.end,
        [=](std::int64_t begin, const std::array<std::int64_t, 2>& places, std::int64_t count)
            __attribute__((always_inline)) {
              const float* const from_a = a + places[0];
              const float* const from_b = b + places[1];
              if (moves_a && moves_b)
                binary_row<1, 1>(function, from_a, from_b, y + begin, count);
              else if (moves_a)
                binary_row<1, 0>(function, from_a, from_b, y + begin, count);
              else
                binary_row<0, 1>(function, from_a, from_b, y + begin, count);
            });
  }
};

template <class Function>
MadeKernel binary(const KernelSignature& signature, Function function) {
  const Shape& shape = signature.results[0].shape;
  const Repeated<2> all(shape, {repeated_strides(signature.operands[0].shape, shape),
                                repeated_strides(signature.operands[1].shape, shape)});
  return host_kernel(plan_of(signature), [=](const KernelCall& call, UnitRange range) {
    run_loop<BinaryLoop<Function>>(&all, function, operand_of(call, 0), operand_of(call, 1),
                                   result_of(call), range);
  });
}

// Types for functions, because only these can be compiled into loops for several instruction sets.
#define HOCKET_UNARY(Name, expression)                                                   \
  struct Name {                                                                          \
    static constexpr bool kVectorises = true;                                            \
    [[gnu::always_inline]] inline float operator()(float x) const { return expression; } \
  }
#define HOCKET_BINARY(Name, expression)                                                           \
  struct Name {                                                                                   \
    [[gnu::always_inline]] inline float operator()(float a, float b) const { return expression; } \
  }

HOCKET_UNARY(ExponentialFunction, exponential_of(x));
HOCKET_UNARY(SquareRoot, std::sqrt(x));
HOCKET_UNARY(ReciprocalSquareRoot, 1.0f / std::sqrt(x));
HOCKET_UNARY(Tanh, tanh_of(x));
HOCKET_UNARY(Sigmoid, sigmoid_of(x));
HOCKET_UNARY(Relu, relu_of(x));
HOCKET_UNARY(Gelu, gelu_of(x));
HOCKET_UNARY(Silu, silu_of(x));
HOCKET_BINARY(Add, a + b);
HOCKET_BINARY(Subtract, a - b);
HOCKET_BINARY(Multiply, a* b);
HOCKET_BINARY(Divide, a / b);
HOCKET_BINARY(Swiglu, silu_of(a) * b);
HOCKET_BINARY(ReluGradient, a <= 0 ? 0.0f : b);
HOCKET_BINARY(GeluGradient, gelu_slope_of(a) * b);
HOCKET_BINARY(SiluGradient, silu_slope_of(a) * b);

#undef HOCKET_UNARY
#undef HOCKET_BINARY

/// The C library's, which a compiler does not vectorise.
struct Logarithm {
  static constexpr bool kVectorises = false;
  [[gnu::always_inline]] inline float operator()(float x) const { return std::log(x); }
};

struct Scale {
  static constexpr bool kVectorises = true;
  [[gnu::always_inline]] inline float operator()(float x) const { return x * factor; }

  float factor;
};

struct SelectLoop {
  [[gnu::always_inline]] static inline void run(const Repeated<3>* all, const float* condition,
                                                const float* a, const float* b, float* y,
                                                UnitRange range) {
    const std::int64_t of_condition = all->inner(0), of_a = all->inner(1), of_b = all->inner(2);
    each_row(
        *all, range.begin, range.end,
        [=](std::int64_t begin, const std::array<std::int64_t, 3>& places,
            std::int64_t count) __attribute__((always_inline)) {
          const float* const from_condition = condition + places[0];
          const float* const from_a = a + places[1];
          const float* const from_b = b + places[2];
          float* const to = y + begin;
          if (of_condition == 1 && of_a == 1 && of_b == 1) {
#pragma omp simd
            for (std::int64_t i = 0; i < count; ++i)
              to[i] = from_condition[i] != 0 ? from_a[i] : from_b[i];
          } else {
            for (std::int64_t i = 0; i < count; ++i)
              to[i] = from_condition[i * of_condition] != 0 ? from_a[i * of_a] : from_b[i * of_b];
          }
        });
  }
};

}  // namespace

MadeKernel make_elementwise(const KernelSignature& signature) {
  switch (signature.kind) {
    case Kind::add:
      return binary(signature, Add());
    case Kind::subtract:
      return binary(signature, Subtract());
    case Kind::multiply:
      return binary(signature, Multiply());
    case Kind::divide:
      return binary(signature, Divide());
    case Kind::scale:
      return unary(signature, Scale{static_cast<float>(signature.attributes.number("factor"))});
    case Kind::exponential:
      return unary(signature, ExponentialFunction());
    case Kind::logarithm:
      return unary(signature, Logarithm());
    case Kind::square_root:
      return unary(signature, SquareRoot());
    case Kind::reciprocal_square_root:
      return unary(signature, ReciprocalSquareRoot());
    case Kind::tanh:
      return unary(signature, Tanh());
    case Kind::sigmoid:
      return unary(signature, Sigmoid());
    case Kind::relu:
      return unary(signature, Relu());
    case Kind::gelu:
      return unary(signature, Gelu());
    case Kind::silu:
      return unary(signature, Silu());
    case Kind::swiglu:
      return binary(signature, Swiglu());
    case Kind::relu_gradient:
      return binary(signature, ReluGradient());
    case Kind::gelu_gradient:
      return binary(signature, GeluGradient());
    case Kind::silu_gradient:
      return binary(signature, SiluGradient());
    default:
      HOCKET_CHECK(false, "an elementwise operation");
      return {};
  }
}

MadeKernel make_select(const KernelSignature& signature) {
  const Shape& shape = signature.results[0].shape;
  const Repeated<3> all(shape, {repeated_strides(signature.operands[0].shape, shape),
                                repeated_strides(signature.operands[1].shape, shape),
                                repeated_strides(signature.operands[2].shape, shape)});
  return host_kernel(plan_of(signature), [all](const KernelCall& call, UnitRange range) {
    run_loop<SelectLoop>(&all, operand_of(call, 0), operand_of(call, 1), operand_of(call, 2),
                         result_of(call), range);
  });
}

}  // namespace hocket
