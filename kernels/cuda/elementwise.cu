// Elementwise operations. Operands that are as large as the result are read in its order; others by
// their places, a pack at a time where the innermost dimension allows it.

#include <cmath>

#include "core/base/check.h"
#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/curves.h"
#include "kernels/cuda/device/strided_walk.h"

namespace hocket::kernels {
namespace {

using Kind = OperationKind;

// Types for functions, which templates of kernels take.
#define HOCKET_UNARY(Name, expression)                                              \
  struct Name {                                                                     \
    static constexpr int kOperands = 1;                                             \
    __device__ float operator()(float x, float, float) const { return expression; } \
  }
#define HOCKET_BINARY(Name, expression)                                               \
  struct Name {                                                                       \
    static constexpr int kOperands = 2;                                               \
    __device__ float operator()(float a, float b, float) const { return expression; } \
  }

HOCKET_UNARY(ExponentialFunction, expf(x));
HOCKET_UNARY(Logarithm, logf(x));
HOCKET_UNARY(SquareRoot, sqrtf(x));
HOCKET_UNARY(ReciprocalSquareRoot, 1.0f / sqrtf(x));
HOCKET_UNARY(Tanh, tanhf(x));
HOCKET_UNARY(Sigmoid, logistic(x));
HOCKET_UNARY(Relu, ReluCurve::value(x));
HOCKET_UNARY(Gelu, GeluCurve::value(x));
HOCKET_UNARY(Silu, SiluCurve::value(x));
HOCKET_BINARY(Add, a + b);
HOCKET_BINARY(Subtract, a - b);
HOCKET_BINARY(Multiply, a* b);
HOCKET_BINARY(Divide, a / b);
HOCKET_BINARY(Swiglu, SiluCurve::value(a) * b);
HOCKET_BINARY(ReluGradient, ReluCurve::slope(a, b));
HOCKET_BINARY(GeluGradient, GeluCurve::slope(a, b));
HOCKET_BINARY(SiluGradient, SiluCurve::slope(a, b));

#undef HOCKET_UNARY
#undef HOCKET_BINARY

struct Scale {
  static constexpr int kOperands = 1;
  __device__ float operator()(float x, float, float) const { return x * factor; }

  float factor;
};

struct Select {
  static constexpr int kOperands = 3;
  __device__ float operator()(float condition, float a, float b) const {
    return condition != 0 ? a : b;
  }
};

template <class T, int Count>
struct ElementwiseOperands {
  const T* x[Count];
};

template <int Count, int N>
__device__ float value_at(const float (&values)[Count][N], int operand, int j) {
  return values[operand < Count ? operand : 0][j];
}

template <class T, int N, class Function>
__global__ void dense_kernel(std::size_t count, Function function,
                             ElementwiseOperands<T, Function::kOperands> operands, T* y) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    constexpr int kCount = Function::kOperands;
    float values[kCount][M], out[M];
    for (int k = 0; k < kCount; ++k) load(operands.x[k] + i, values[k]);
    for (int j = 0; j < M; ++j)
      out[j] = function(values[0][j], value_at(values, 1, j), value_at(values, 2, j));
    store(out, y + i);
  });
}

/// An operand goes on in a pack, or is the same number in all of it. Indexes `walk` in the memory
/// of the parameters, where it would be copied to the stack otherwise, as other kernels do.
template <class T, int N, class Function>
__global__ void repeated_kernel(std::size_t count, Function function,
                                const __grid_constant__ StridedWalk<Function::kOperands> walk,
                                ElementwiseOperands<T, Function::kOperands> operands, T* y) {
  for_elements<1>(count / N, [=, &walk]<int M>(std::size_t pack) {
    constexpr int kCount = Function::kOperands;
    const std::size_t i = pack * N;
    std::int64_t places[kCount];
    walk.find(static_cast<std::int64_t>(i), places);
    float values[kCount][N], out[N];
    for (int k = 0; k < kCount; ++k) {
      if (N > 1 && walk.strides[walk.rank - 1][k] == 0) {
        float one[1];
        load(operands.x[k] + places[k], one);
        for (int j = 0; j < N; ++j) values[k][j] = one[0];
      } else {
        load(operands.x[k] + places[k], values[k]);
      }
    }
    for (int j = 0; j < N; ++j)
      out[j] = function(values[0][j], value_at(values, 1, j), value_at(values, 2, j));
    store(out, y + i);
  });
}

template <class T, class Function>
ElementwiseOperands<T, Function::kOperands> operands_of(const KernelCall& call) {
  ElementwiseOperands<T, Function::kOperands> operands;
  for (int k = 0; k < Function::kOperands; ++k)
    operands.x[k] = operand_of<T>(call, static_cast<std::size_t>(k));
  return operands;
}

template <class Function>
MadeKernel dense(const KernelSignature& signature, Function function) {
  const auto count = static_cast<std::size_t>(signature.results[0].count());
  const ElementType type = element_type(signature.results[0].numbers);
  KernelPlan plan{.in_place = in_place_of(signature)};
  return cuda_kernel(std::move(plan), [=](const KernelCall& call, const DeviceTask& task) {
    return dispatch_packs(type, are_aligned(call), [&]<class T, int N>() {
      return launch("elementwise", dense_kernel<T, N, Function>, elements_grid(count, N),
                    task.stream, count, function, operands_of<T, Function>(call),
                    result_of<T>(call));
    });
  });
}

template <class Function>
MadeKernel elementwise(const KernelSignature& signature, Function function) {
  constexpr std::size_t kCount = Function::kOperands;
  const ValueType& y = signature.results[0];
  bool is_dense = true;
  std::array<DimensionStrides, kCount> strides;
  for (std::size_t k = 0; k < kCount; ++k) {
    is_dense = is_dense && signature.operands[k].count() == y.count();
    strides[k] = repeated_strides(signature.operands[k].shape, y.shape);
  }
  if (is_dense) return dense(signature, function);
  const Repeated<kCount> all(y.shape, strides);
  const auto count = static_cast<std::size_t>(y.count());
  const ElementType type = element_type(y.numbers);
  const bool packs = goes_on_in_packs(all, type == ElementType::float32 ? 4 : 8);
  KernelPlan plan{.in_place = in_place_of(signature)};
  return cuda_kernel(std::move(plan), [=, walk = StridedWalk<static_cast<int>(kCount)>(all)](
                                          const KernelCall& call, const DeviceTask& task) {
    return dispatch_packs(type, packs && are_aligned(call), [&]<class T, int N>() {
      return launch("elementwise of repeated operands", repeated_kernel<T, N, Function>,
                    elements_grid(count, N), task.stream, count, function, walk,
                    operands_of<T, Function>(call), result_of<T>(call));
    });
  });
}

}  // namespace

MadeKernel make_elementwise(const KernelSignature& signature) {
  switch (signature.kind) {
    case Kind::add:
      return elementwise(signature, Add());
    case Kind::subtract:
      return elementwise(signature, Subtract());
    case Kind::multiply:
      return elementwise(signature, Multiply());
    case Kind::divide:
      return elementwise(signature, Divide());
    case Kind::scale:
      return dense(signature, Scale{static_cast<float>(signature.attributes.number("factor"))});
    case Kind::exponential:
      return dense(signature, ExponentialFunction());
    case Kind::logarithm:
      return dense(signature, Logarithm());
    case Kind::square_root:
      return dense(signature, SquareRoot());
    case Kind::reciprocal_square_root:
      return dense(signature, ReciprocalSquareRoot());
    case Kind::tanh:
      return dense(signature, Tanh());
    case Kind::sigmoid:
      return dense(signature, Sigmoid());
    case Kind::relu:
      return dense(signature, Relu());
    case Kind::gelu:
      return dense(signature, Gelu());
    case Kind::silu:
      return dense(signature, Silu());
    case Kind::swiglu:
      return elementwise(signature, Swiglu());
    case Kind::relu_gradient:
      return elementwise(signature, ReluGradient());
    case Kind::gelu_gradient:
      return elementwise(signature, GeluGradient());
    case Kind::silu_gradient:
      return elementwise(signature, SiluGradient());
    default:
      HOCKET_CHECK(false, "an elementwise operation");
      return {};
  }
}

MadeKernel make_select(const KernelSignature& signature) {
  return elementwise(signature, Select());
}

}  // namespace hocket::kernels
