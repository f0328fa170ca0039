// Normalisation of rows. The units are rows; gradients sum over all rows, so that theirs are one.

#include <cmath>
#include <optional>

#include "kernels/host/host_kernel.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

struct NormFacts {
  std::int64_t width = 0;
  std::int64_t rows = 0;
  float epsilon = 0;
};

NormFacts norm_facts(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  NormFacts facts{.width = rows.width, .rows = rows.count};
  if (const AttributeValue* const epsilon = signature.attributes.find("epsilon"))
    facts.epsilon = static_cast<float>(std::get<double>(*epsilon));
  return facts;
}

struct LayerNormLoop {
  [[gnu::always_inline]] static inline void run(NormFacts facts, UnitRange range, const float* x,
                                                const float* gain, const float* bias, float* y,
                                                float* means, float* inverses) {
    const std::int64_t width = facts.width;
    const auto count = static_cast<float>(width);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const float* const in = x + row * width;
      float* const out = y + row * width;
      float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < width; ++i) sum += in[i];
      const float mean = sum / count;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t i = 0; i < width; ++i) squares += (in[i] - mean) * (in[i] - mean);
      const float inverse = 1.0f / std::sqrt(squares / count + facts.epsilon);
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i)
        out[i] = (in[i] - mean) * inverse * gain[i] + bias[i];
      means[row] = mean;
      inverses[row] = inverse;
    }
  }
};

struct LayerNormGradientLoop {
  [[gnu::always_inline]] static inline void run(NormFacts facts, const float* x, const float* gain,
                                                const float* means, const float* inverses,
                                                const float* dy, const float* residual, float* dx,
                                                float* dgain, float* dbias) {
    const std::int64_t width = facts.width;
    const auto count = static_cast<float>(width);
    for (std::int64_t i = 0; i < width; ++i) dgain[i] = dbias[i] = 0;
    for (std::int64_t row = 0; row < facts.rows; ++row) {
      const float* const in = x + row * width;
      const float* const slope_out = dy + row * width;
      const float* const skip = residual ? residual + row * width : nullptr;
      float* const out = dx + row * width;
      const float mean = means[row], inverse = inverses[row];
      float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
      for (std::int64_t i = 0; i < width; ++i) {
        const float centred = in[i] - mean, scaled = slope_out[i] * gain[i];
        sum += scaled;
        product += scaled * centred;
        dgain[i] += slope_out[i] * centred * inverse;
        dbias[i] += slope_out[i];
      }
      const float offset = sum / count;
      const float slope = product * inverse * inverse / count;
      if (skip) {
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i) {
          out[i] = inverse * (slope_out[i] * gain[i] - offset - slope * (in[i] - mean)) + skip[i];
        }
      } else {
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i)
          out[i] = inverse * (slope_out[i] * gain[i] - offset - slope * (in[i] - mean));
      }
    }
  }
};

struct RmsNormLoop {
  [[gnu::always_inline]] static inline void run(NormFacts facts, UnitRange range, const float* x,
                                                const float* gain, float* y, float* inverses) {
    const std::int64_t width = facts.width;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const float* const in = x + row * width;
      float* const out = y + row * width;
      float squares = 0;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t i = 0; i < width; ++i) squares += in[i] * in[i];
      const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(width) + facts.epsilon);
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) out[i] = in[i] * inverse * gain[i];
      inverses[row] = inverse;
    }
  }
};

struct RmsNormGradientLoop {
  [[gnu::always_inline]] static inline void run(NormFacts facts, const float* x, const float* gain,
                                                const float* inverses, const float* dy,
                                                const float* residual, float* dx, float* dgain) {
    const std::int64_t width = facts.width;
    for (std::int64_t i = 0; i < width; ++i) dgain[i] = 0;
    for (std::int64_t row = 0; row < facts.rows; ++row) {
      const float* const in = x + row * width;
      const float* const slope_out = dy + row * width;
      const float* const skip = residual ? residual + row * width : nullptr;
      float* const out = dx + row * width;
      const float inverse = inverses[row];
      float product = 0;
#pragma omp simd reduction(+ : product)
      for (std::int64_t i = 0; i < width; ++i) {
        const float normal = in[i] * inverse;
        product += slope_out[i] * gain[i] * normal;
        dgain[i] += slope_out[i] * normal;
      }
      const float slope = product / static_cast<float>(width);
      if (skip) {
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i) {
          out[i] = inverse * (slope_out[i] * gain[i] - in[i] * inverse * slope) + skip[i];
        }
      } else {
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i)
          out[i] = inverse * (slope_out[i] * gain[i] - in[i] * inverse * slope);
      }
    }
  }
};

/// A gradient may be in the memory of x, of dy or of the residual, which a row reads before.
std::vector<InPlace> gradient_in_place(std::size_t dy, std::optional<std::size_t> residual) {
  std::vector<InPlace> all{{0, 0}, {0, dy}};
  if (residual) all.push_back({0, *residual});
  return all;
}

std::optional<std::size_t> residual_of(const KernelSignature& signature) {
  return operand_place(signature.kind, signature.attributes, "residual");
}

}  // namespace

MadeKernel make_layer_norm(const KernelSignature& signature) {
  const NormFacts facts = norm_facts(signature);
  return host_kernel({.units = facts.rows, .in_place = {{0, 0}}}, [facts](const KernelCall& call,
                                                                          UnitRange range) {
    run_loop<LayerNormLoop>(facts, range, operand_of(call, 0), operand_of(call, 1),
                            operand_of(call, 2), result_of(call, 0), result_of(call, 1),
                            result_of(call, 2));
  });
}

MadeKernel make_layer_norm_gradient(const KernelSignature& signature) {
  const NormFacts facts = norm_facts(signature);
  const auto residual = residual_of(signature);
  return host_kernel({.in_place = gradient_in_place(4, residual)}, [=](const KernelCall& call,
                                                                       UnitRange) {
    const float* const skip = residual ? operand_of(call, *residual) : nullptr;
    run_loop<LayerNormGradientLoop>(
        facts, operand_of(call, 0), operand_of(call, 1), operand_of(call, 2), operand_of(call, 3),
        operand_of(call, 4), skip, result_of(call, 0), result_of(call, 1), result_of(call, 2));
  });
}

MadeKernel make_rms_norm(const KernelSignature& signature) {
  const NormFacts facts = norm_facts(signature);
  return host_kernel({.units = facts.rows, .in_place = {{0, 0}}},
                     [facts](const KernelCall& call, UnitRange range) {
                       run_loop<RmsNormLoop>(facts, range, operand_of(call, 0), operand_of(call, 1),
                                             result_of(call, 0), result_of(call, 1));
                     });
}

MadeKernel make_rms_norm_gradient(const KernelSignature& signature) {
  const NormFacts facts = norm_facts(signature);
  const auto residual = residual_of(signature);
  return host_kernel(
      {.in_place = gradient_in_place(3, residual)}, [=](const KernelCall& call, UnitRange) {
        const float* const skip = residual ? operand_of(call, *residual) : nullptr;
        run_loop<RmsNormGradientLoop>(facts, operand_of(call, 0), operand_of(call, 1),
                                      operand_of(call, 2), operand_of(call, 3), skip,
                                      result_of(call, 0), result_of(call, 1));
      });
}

}  // namespace hocket
