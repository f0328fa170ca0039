// Softmax and cross entropy of rows. The units are rows.

#include <cmath>

#include "kernels/host/host_kernel.h"
#include "kernels/host/row_sums.h"
#include "kernels/host/vector_maths.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

struct SoftmaxLoop {
  [[gnu::always_inline]] static inline void run(UnitRange range, std::int64_t width, const float* x,
                                                float* y) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const float* const in = x + row * width;
      float* const out = y + row * width;
      const float most = row_maximum(in, width);
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < width; ++i) {
        const float each = small_exponential(in[i] - most);
        out[i] = each;
        sum += each;
      }
      const float scale = 1.0f / sum;
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) out[i] *= scale;
    }
  }
};

struct SoftmaxGradientLoop {
  [[gnu::always_inline]] static inline void run(UnitRange range, std::int64_t width, const float* y,
                                                const float* dy, float* dx) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const float* const in = y + row * width;
      const float* const slope = dy + row * width;
      float* const out = dx + row * width;
      float product = 0;
#pragma omp simd reduction(+ : product)
      for (std::int64_t i = 0; i < width; ++i) product += in[i] * slope[i];
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) out[i] = in[i] * (slope[i] - product);
    }
  }
};

/// Gives the largest logit of each row and the sum of the exponentials, divided by its own.
struct ExponentialSumLoop {
  [[gnu::always_inline]] static inline void run(const float* x, std::int64_t width, float* most,
                                                double* sum) {
    const float largest = finite_maximum(x, width);
    double total = 0;
    for (std::int64_t begin = 0; begin < width; begin += kSumBlock) {
      const float* const from = x + begin;
      const std::int64_t count = width - begin < kSumBlock ? width - begin : kSumBlock;
      float part = 0;
#pragma omp simd reduction(+ : part)
      for (std::int64_t i = 0; i < count; ++i) part += small_exponential(from[i] - largest);
      total += static_cast<double>(part);
    }
    *most = largest;
    *sum = total;
  }
};

struct CrossEntropyGradientLoop {
  [[gnu::always_inline]] static inline void run(const float* x, std::int64_t width, float log_sum,
                                                float slope, float* dx) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) dx[i] = small_exponential(x[i] - log_sum) * slope;
  }
};

}  // namespace

MadeKernel make_softmax(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  return host_kernel({.units = rows.count, .in_place = {{0, 0}}},
                     [width = rows.width](const KernelCall& call, UnitRange range) {
                       run_loop<SoftmaxLoop>(range, width, operand_of(call, 0), result_of(call));
                     });
}

MadeKernel make_softmax_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  return host_kernel({.units = rows.count, .in_place = {{0, 0}, {0, 1}}},
                     [width = rows.width](const KernelCall& call, UnitRange range) {
                       run_loop<SoftmaxGradientLoop>(range, width, operand_of(call, 0),
                                                     operand_of(call, 1), result_of(call));
                     });
}

MadeKernel make_cross_entropy(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  return host_kernel(
      {.units = rows.count},
      [width = rows.width](const KernelCall& call, UnitRange range) -> Result<void> {
        for (std::int64_t row = range.begin; row < range.end; ++row) {
          const std::int64_t target = operand_of<std::int32_t>(call, 1)[row];
          if (target < 0 || target >= width) return wrong_index("targets", target, width, row);
          const float* const logits = operand_of(call, 0) + row * width;
          float most = 0;
          double sum = 0;
          run_loop<ExponentialSumLoop>(logits, width, &most, &sum);
          const double logarithm = std::log(sum);
          // The logarithm of a sum that is near 1 is small beside the logits: they are subtracted
          // first.
          result_of(call, 0)[row] = static_cast<float>(
              logarithm + (static_cast<double>(most) - static_cast<double>(logits[target])));
          result_of(call, 1)[row] = static_cast<float>(logarithm + static_cast<double>(most));
        }
        return {};
      });
}

MadeKernel make_cross_entropy_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  return host_kernel({.units = rows.count, .in_place = {{0, 0}}},
                     [width = rows.width](const KernelCall& call, UnitRange range) -> Result<void> {
                       for (std::int64_t row = range.begin; row < range.end; ++row) {
                         const std::int64_t target = operand_of<std::int32_t>(call, 1)[row];
                         if (target < 0 || target >= width)
                           return wrong_index("targets", target, width, row);
                         const float* const logits = operand_of(call, 0) + row * width;
                         const float log_sum = operand_of(call, 2)[row],
                                     slope = operand_of(call, 3)[row];
                         float* const dlogits = result_of(call) + row * width;
                         const float share = small_exponential(logits[target] - log_sum);
                         run_loop<CrossEntropyGradientLoop>(logits, width, log_sum, slope, dlogits);
                         dlogits[target] = (share - 1.0f) * slope;
                       }
                       return {};
                     });
}

}  // namespace hocket
