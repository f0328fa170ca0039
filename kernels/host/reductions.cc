// Reductions. Their units are the indices of the outermost dimension that stays, so that a unit's
// numbers are a part of the result.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/host/host_kernel.h"
#include "kernels/host/row_sums.h"
#include "kernels/host/vectors.h"
#include "kernels/repeated.h"

namespace hocket {
namespace {

/// A value and what its dimensions are reduced to, whose strides are 0 where they are.
struct Reduction {
  Reduction(const Shape& shape, const DimensionStrides& kept) : all(shape, {kept}) {
    const std::size_t first = all.strides[0][0] != 0 ? 0 : 1;
    if (first < all.rank) {
      units = all.sizes[first];
      repeats = first == 0 ? 1 : all.sizes[0];
      kept_stride = all.strides[first][0];
    }
    unit_numbers = all.count() / repeats / units;
  }

  /// Calls visit(first number, place in the result, numbers) for the rows of the units.
  template <class Visit>
  [[gnu::always_inline]] inline void each(UnitRange range, const Visit& visit) const {
    for (std::int64_t i = 0; i < repeats; ++i) {
      const std::int64_t first = i * units;
      each_row(
          all, (first + range.begin) * unit_numbers, (first + range.end) * unit_numbers,
          [&](std::int64_t begin, const std::array<std::int64_t, 1>& places, std::int64_t count)
              __attribute__((always_inline)) { visit(begin, places[0], count); });
    }
  }
  /// Returns the numbers of the result that belong to the units.
  UnitRange results(UnitRange range) const {
    if (kept_stride == 0) return {0, 1};
    return {range.begin * kept_stride, range.end * kept_stride};
  }
  bool keeps_rows() const { return all.inner(0) != 0; }

  Repeated<1> all;
  std::int64_t units = 1;
  std::int64_t repeats = 1;       ///< of all units, around them
  std::int64_t unit_numbers = 1;  ///< in each repeat
  std::int64_t kept_stride = 0;   ///< numbers of the result in a unit; 0 if nothing stays
};

Reduction reduction_of(const KernelSignature& signature) {
  const Shape& shape = signature.operands[0].shape;
  Shape kept = shape;
  for (const std::int64_t each : signature.attributes.integers("dimensions"))
    kept[dimension_at(each, shape.size())] = 1;
  return {shape, repeated_strides(kept, shape)};
}

struct SumLoop {
  [[gnu::always_inline]] static inline void run(const Reduction* reduction, const float* x,
                                                float* y, UnitRange range) {
    const UnitRange results = reduction->results(range);
    for (std::int64_t i = results.begin; i < results.end; ++i) y[i] = 0;
    const bool keeps_rows = reduction->keeps_rows();
    reduction->each(
        range, [=](std::int64_t begin, std::int64_t place, std::int64_t count)
                   __attribute__((always_inline)) {
                     const float* const from = x + begin;
                     float* const to = y + place;
                     if (!keeps_rows) {
                       *to += row_sum(from, count);
                       return;
                     }
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
                   });
  }
};

/// Returns the larger one, or the one that is no number.
[[gnu::always_inline]] inline float larger(float most, float x) {
  return most != most || x <= most ? most : x;
}

struct MaximumLoop {
  [[gnu::always_inline]] static inline void run(const Reduction* reduction, const float* x,
                                                float* y, UnitRange range) {
    const UnitRange results = reduction->results(range);
    for (std::int64_t i = results.begin; i < results.end; ++i)
      y[i] = -std::numeric_limits<float>::infinity();
    const bool keeps_rows = reduction->keeps_rows();
    reduction->each(
        range, [=](std::int64_t begin, std::int64_t place, std::int64_t count)
                   __attribute__((always_inline)) {
                     const float* const from = x + begin;
                     float* const to = y + place;
                     if (!keeps_rows) {
                       *to = larger(*to, row_maximum(from, count));
                       return;
                     }
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) to[i] = larger(to[i], from[i]);
                   });
  }
};

template <class Loop>
MadeKernel reduction_kernel(const KernelSignature& signature) {
  const Reduction reduction = reduction_of(signature);
  return host_kernel({.units = reduction.units},
                     [reduction](const KernelCall& call, UnitRange range) {
                       run_loop<Loop>(&reduction, operand_of(call, 0), result_of(call), range);
                     });
}

struct MaximumGradientLoop {
  /// `equal` has a count for each number of y.
  [[gnu::always_inline]] static inline void run(const Reduction* reduction, const float* x,
                                                const float* y, const float* dy, float* dx,
                                                std::int32_t* equal, UnitRange range) {
    const UnitRange results = reduction->results(range);
    for (std::int64_t i = results.begin; i < results.end; ++i) equal[i] = 0;
    const std::int64_t stride = reduction->all.inner(0);
    reduction->each(
        range, [=](std::int64_t begin, std::int64_t place, std::int64_t count)
                   __attribute__((always_inline)) {
                     for (std::int64_t i = 0; i < count; ++i) {
                       const std::int64_t at = place + i * stride;
                       equal[at] += x[begin + i] == y[at] ? 1 : 0;
                     }
                   });
    reduction->each(
        range, [=](std::int64_t begin, std::int64_t place,
                   std::int64_t count) __attribute__((always_inline)) {
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t at = place + i * stride;
            dx[begin + i] = x[begin + i] == y[at] ? dy[at] / static_cast<float>(equal[at]) : 0.0f;
          }
        });
  }
};

struct IsFiniteLoop {
  [[gnu::always_inline]] static inline void run(const float* x, std::int64_t count, float* y) {
    std::int32_t others = 0;
#pragma omp simd reduction(| : others)
    for (std::int64_t i = 0; i < count; ++i)
      others |= std::abs(x[i]) <= std::numeric_limits<float>::max() ? 0 : 1;
    *y = others == 0 ? 1.0f : 0.0f;
  }
};

}  // namespace

MadeKernel make_sum(const KernelSignature& signature) {
  return reduction_kernel<SumLoop>(signature);
}

MadeKernel make_maximum(const KernelSignature& signature) {
  return reduction_kernel<MaximumLoop>(signature);
}

MadeKernel make_maximum_gradient(const KernelSignature& signature) {
  const Shape& shape = signature.operands[0].shape;
  const Reduction reduction(shape, repeated_strides(signature.operands[1].shape, shape));
  const auto scratch = signature.operands[1].count() * std::int64_t{sizeof(std::int32_t)};
  return host_kernel({.units = reduction.units, .scratch_bytes = scratch, .in_place = {{0, 0}}},
                     [reduction](const KernelCall& call, UnitRange range) {
                       run_loop<MaximumGradientLoop>(
                           &reduction, operand_of(call, 0), operand_of(call, 1),
                           operand_of(call, 2), result_of(call),
                           static_cast<std::int32_t*>(call.scratch), range);
                     });
}

MadeKernel make_is_finite(const KernelSignature& signature) {
  const std::int64_t count = signature.operands[0].count();
  return host_kernel({}, [count](const KernelCall& call, UnitRange) {
    run_loop<IsFiniteLoop>(operand_of(call, 0), count, result_of(call));
  });
}

}  // namespace hocket
