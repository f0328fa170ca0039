// Reductions over any dimensions.

#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace hocket::kernels {
namespace {

struct SumReducer {
  __device__ float identity() const { return 0; }
  __device__ float take(float x, std::int64_t) const { return x; }
  __device__ float combine(float a, float b) const { return a + b; }
  __device__ float finish(float value) const { return value; }
};

struct MaximumReducer {
  __device__ float identity() const { return -INFINITY; }
  __device__ float take(float x, std::int64_t) const { return x; }
  /// Returns the larger one, or the one that is no number.
  __device__ float combine(float a, float b) const { return a != a || b <= a ? a : b; }
  __device__ float finish(float value) const { return value; }
};

/// Counts the numbers that are the maximum.
template <class T>
struct EqualReducer {
  const T* maxima;

  __device__ float identity() const { return 0; }
  __device__ float take(float x, std::int64_t k) const {
    return x == to_float(maxima[k]) ? 1.0f : 0.0f;
  }
  __device__ float combine(float a, float b) const { return a + b; }
  __device__ float finish(float value) const { return value; }
};

struct FiniteReducer {
  __device__ float identity() const { return 1; }
  __device__ float take(float x, std::int64_t) const { return x - x == 0 ? 1.0f : 0.0f; }
  __device__ float combine(float a, float b) const { return a * b; }
  __device__ float finish(float value) const { return value; }
};

Reduction reduction_over(const KernelSignature& signature) {
  const Shape& shape = signature.operands[0].shape;
  Shape kept = shape;
  for (const std::int64_t each : signature.attributes.integers("dimensions"))
    kept[dimension_at(each, shape.size())] = 1;
  return reduction_of(shape, repeated_strides(kept, shape));
}

Result<void> check_results(const Reduction& all) {
  return check_sizes({all.results});
}

/// A sum may be of another type than what is added up.
template <class Reducer>
MadeKernel reduction_kernel(const char* name, const KernelSignature& signature,
                            const Reduction& all) {
  HOCKET_TRY(check_results(all));
  const ElementType from = element_type(signature.operands[0].numbers);
  const bool widens = signature.results[0].numbers == NumberType::float32;
  return cuda_kernel({.scratch_bytes = all.scratch_floats() * 4}, [=](const KernelCall& call,
                                                                      const DeviceTask& task) {
    return dispatch_packs(from, false, [&]<class T, int N>() {
      const T* const x = operand_of<T>(call, 0);
      float* const scratch = scratch_of(call);
      return widens ? reduce(name, all, Reducer(), x, result_of(call), scratch, task.stream)
                    : reduce(name, all, Reducer(), x, result_of<T>(call), scratch, task.stream);
    });
  });
}

template <class T>
__global__ void maximum_gradient_kernel(std::size_t count,
                                        const __grid_constant__ StridedWalk<1> walk, const T* x,
                                        const T* y, const T* dy, const float* equal, T* dx) {
  for_elements<1>(count, [=, &walk]<int M>(std::size_t i) {
    const std::int64_t at = walk.find(static_cast<std::int64_t>(i));
    const bool is_most = to_float(x[i]) == to_float(y[at]);
    assign(is_most ? to_float(dy[at]) / equal[at] : 0.0f, dx[i]);
  });
}

}  // namespace

MadeKernel make_sum(const KernelSignature& signature) {
  return reduction_kernel<SumReducer>("sum", signature, reduction_over(signature));
}

MadeKernel make_maximum(const KernelSignature& signature) {
  return reduction_kernel<MaximumReducer>("maximum", signature, reduction_over(signature));
}

MadeKernel make_is_finite(const KernelSignature& signature) {
  const Shape& shape = signature.operands[0].shape;
  return reduction_kernel<FiniteReducer>("is_finite", signature,
                                         reduction_of(shape, DimensionStrides(shape.size(), 0)));
}

MadeKernel make_maximum_gradient(const KernelSignature& signature) {
  const Shape& shape = signature.operands[0].shape;
  const DimensionStrides strides = repeated_strides(signature.operands[1].shape, shape);
  const Reduction all = reduction_of(shape, strides);
  HOCKET_TRY(check_results(all));
  const std::int64_t equal_bytes = padded(all.results * 4);
  const auto count = static_cast<std::size_t>(signature.operands[0].count());
  const ElementType type = element_type(signature.operands[0].numbers);
  KernelPlan plan{.scratch_bytes = equal_bytes + all.scratch_floats() * 4, .in_place = {{0, 0}}};
  return cuda_kernel(std::move(plan), [=, walk = StridedWalk<1>({shape, {strides}})](
                                          const KernelCall& call, const DeviceTask& task) {
    return dispatch_packs(type, false, [&]<class T, int N>() -> Result<void> {
      const T *const x = operand_of<T>(call, 0), *const y = operand_of<T>(call, 1);
      float* const equal = scratch_of(call);
      HOCKET_TRY(reduce("count of maxima", all, EqualReducer<T>{y}, x, equal,
                        scratch_of(call, equal_bytes), task.stream));
      return launch("maximum_gradient", maximum_gradient_kernel<T>, elements_grid(count, 1),
                    task.stream, count, walk, x, y, operand_of<T>(call, 2), equal,
                    result_of<T>(call));
    });
  });
}

}  // namespace hocket::kernels
