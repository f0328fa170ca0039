// Normalisation: one warp per row. Rows of up to 2,048 numbers, with those of GPT-2 among them, are
// read once and stay in registers; the passes over wider or unaligned ones read them again, from
// the cache. RMS normalisation is that of layers without a mean and a bias.

#include <cmath>
#include <utility>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/column_sums.h"

namespace hocket::kernels {
namespace {

struct NormFacts {
  int rows = 0, width = 0;
  float epsilon = 0;
};

/// Returns the number of packs of N elements that a lane takes of a row.
constexpr int packs_of_lane(int n, int width) {
  return (width + kWarp * n - 1) / (kWarp * n);
}

/// A lane's packs of a row, in registers: `Packs` of them, or one at a time if it is 0.
template <int N, int Packs>
struct LaneOfRow {
  float packs[Packs == 0 ? 1 : Packs][N];
};

/// Runs the lanes of a warp together over a row: body(k, i) for pack k of the lane, whose first
/// element is i; k is 0 for all where Packs is 0. Unrolls completely, since registers have no
/// index.
template <int N, int Packs, class Body>
__device__ void for_packs(int width, const Body& body) {
  if constexpr (Packs == 0) {
    for_row<N>(width, [&](int i) { body(0, i); });
  } else {
    const auto at = [&](int k) {
      const int i = (k * kWarp + lane()) * N;
      if (i < width) body(k, i);
    };
    [&]<int... K>(std::integer_sequence<int, K...>) {
      (at(K), ...);
    }
    (std::make_integer_sequence<int, Packs>());
  }
}

/// With `Centres`, the mean is subtracted first, and a bias added at last.
template <bool Centres, class T, int N, int Packs>
__global__ void norm_kernel(NormFacts facts, const T* x, const T* gain, const T* bias, T* y,
                            float* means, float* inverses) {
  const std::size_t row = row_of_warp();
  if (row >= static_cast<std::size_t>(facts.rows)) return;
  const T* in = x + row * facts.width;
  T* out = y + row * facts.width;
  LaneOfRow<N, Packs> own;
  const auto reload = [&](int k, int i) {
    if constexpr (Packs == 0) load(in + i, own.packs[k]);
  };
  float sum = 0, squares = 0, mean = 0;
  for_packs<N, Packs>(facts.width, [&](int k, int i) {
    load(in + i, own.packs[k]);
    for (const float v : own.packs[k]) sum += v;
  });
  const auto width = static_cast<float>(facts.width);
  if constexpr (Centres) mean = warp_sum(sum) / width;
  for_packs<N, Packs>(facts.width, [&](int k, int i) {
    reload(k, i);
    for (const float v : own.packs[k]) squares += (v - mean) * (v - mean);
  });
  const float inverse = 1.0f / sqrtf(warp_sum(squares) / width + facts.epsilon);
  for_packs<N, Packs>(facts.width, [&](int k, int i) {
    float gains[N], values[N] = {};
    reload(k, i);
    load(gain + i, gains);
    if constexpr (Centres) load(bias + i, values);
    for (int j = 0; j < N; ++j) values[j] += (own.packs[k][j] - mean) * inverse * gains[j];
    store(values, out + i);
  });
  if (lane() != 0) return;
  if constexpr (Centres) means[row] = mean;
  inverses[row] = inverse;
}

template <bool Centres, class T, int N, int Packs>
__global__ void norm_gradient_kernel(NormFacts facts, const T* x, const T* gain, const float* means,
                                     const float* inverses, const T* dy, const T* residual, T* dx) {
  const std::size_t row = row_of_warp();
  if (row >= static_cast<std::size_t>(facts.rows)) return;
  const std::size_t begin = row * facts.width;
  const float mean = Centres ? means[row] : 0.0f, inverse = inverses[row];
  LaneOfRow<N, Packs> centred, scaled;
  const auto load_packs = [&](int k, int i) {
    float gains[N];
    load(x + begin + i, centred.packs[k]);
    load(dy + begin + i, scaled.packs[k]);
    load(gain + i, gains);
    for (int j = 0; j < N; ++j) {
      centred.packs[k][j] -= mean;
      scaled.packs[k][j] *= gains[j];
    }
  };
  float sum = 0, product = 0;
  for_packs<N, Packs>(facts.width, [&](int k, int i) {
    load_packs(k, i);
    for (int j = 0; j < N; ++j) {
      sum += scaled.packs[k][j];
      product += scaled.packs[k][j] * centred.packs[k][j];
    }
  });
  const auto width = static_cast<float>(facts.width);
  const float offset = Centres ? warp_sum(sum) / width : 0.0f;
  const float slope = warp_sum(product) * inverse * inverse / width;
  for_packs<N, Packs>(facts.width, [&](int k, int i) {
    float values[N] = {};
    if constexpr (Packs == 0) load_packs(k, i);
    if (residual) load(residual + begin + i, values);
    for (int j = 0; j < N; ++j)
      values[j] += inverse * (scaled.packs[k][j] - offset - slope * centred.packs[k][j]);
    store(values, dx + begin + i);
  });
}

/// Calls body<Packs>() with the packs that hold a row of `width`, or 0. Rows that take no whole
/// packs, N = 1, are not kept.
template <int N, class Body>
Result<void> dispatch_row_packs(int width, const Body& body) {
  if constexpr (N > 1) {
    if (width <= 768) return body.template operator()<packs_of_lane(N, 768)>();
    if (width <= 1280) return body.template operator()<packs_of_lane(N, 1280)>();
    if (width <= 2048) return body.template operator()<packs_of_lane(N, 2048)>();
  }
  return body.template operator()<0>();
}

/// Source for the gradients of gain and bias, which are sums over the rows.
template <bool Centres, class T>
struct NormColumns {
  static constexpr int kTerms = Centres ? 2 : 1;
  const T* x = nullptr;
  const T* dy = nullptr;
  const float* means = nullptr;
  const float* inverses = nullptr;
  std::size_t width = 0;

  template <int N>
  __device__ void add(int row, int column, float (&sums)[kTerms][N]) const {
    float values[N], gradient[N];
    load(x + row * width + column, values);
    load(dy + row * width + column, gradient);
    const float mean = Centres ? means[row] : 0.0f, inverse = inverses[row];
    for (int j = 0; j < N; ++j) {
      sums[0][j] += gradient[j] * (values[j] - mean) * inverse;
      if constexpr (Centres) sums[1][j] += gradient[j];
    }
  }
};

NormFacts norm_facts(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  NormFacts facts{.rows = static_cast<int>(rows.count), .width = static_cast<int>(rows.width)};
  if (const AttributeValue* const epsilon = signature.attributes.find("epsilon"))
    facts.epsilon = static_cast<float>(std::get<double>(*epsilon));
  return facts;
}

template <bool Centres>
MadeKernel norm(const KernelSignature& signature) {
  const NormFacts facts = norm_facts(signature);
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({.in_place = {{0, 0}}}, [=](const KernelCall& call, const DeviceTask& task) {
    const void* const bias = Centres ? call.operands[2] : nullptr;
    float* const means = Centres ? result_of(call, 1) : nullptr;
    float* const inverses = result_of(call, Centres ? 2 : 1);
    const auto buffers = {call.operands[0], call.operands[1], bias,
                          static_cast<const void*>(call.results[0])};
    return dispatch(type, static_cast<std::size_t>(facts.width), buffers, [&]<class T, int N>() {
      return dispatch_row_packs<N>(facts.width, [&]<int Packs>() {
        return launch("norm", norm_kernel<Centres, T, N, Packs>,
                      rows_grid(static_cast<std::size_t>(facts.rows)), task.stream, facts,
                      operand_of<T>(call, 0), operand_of<T>(call, 1), static_cast<const T*>(bias),
                      result_of<T>(call), means, inverses);
      });
    });
  });
}

template <bool Centres>
MadeKernel norm_gradient(const KernelSignature& signature) {
  const NormFacts facts = norm_facts(signature);
  const ElementType type = element_type(signature.results[0].numbers);
  const std::size_t of_dy = Centres ? 4 : 3, of_residual = place_of(signature, "residual");
  KernelPlan plan{.in_place = {{0, 0}, {0, of_dy}}};
  if (of_residual < signature.operands.size()) plan.in_place.push_back({0, of_residual});
  plan.scratch_bytes =
      std::int64_t{cut_rows(facts.rows).count} * (Centres ? 2 : 1) * facts.width * 4;
  return cuda_kernel(
      std::move(plan), [=](const KernelCall& call, const DeviceTask& task) -> Result<void> {
        const void* const x = call.operands[0];
        const void* const gain = call.operands[1];
        const void* const dy = call.operands[of_dy];
        const void* const residual = optional_operand(call, of_residual);
        const float* const means = Centres ? operand_of(call, 2) : nullptr;
        const float* const inverses = operand_of(call, Centres ? 3 : 2);
        const auto width = static_cast<std::size_t>(facts.width);
        // First the sums over the rows, since dx may be in the memory of what they read.
        HOCKET_TRY(dispatch(type, width, {x, dy}, [&]<class T, int N>() {
          const NormColumns<Centres, T> source{static_cast<const T*>(x), static_cast<const T*>(dy),
                                               means, inverses, width};
          const SumsOfChunks<T> result{.first = result_of<T>(call, 1),
                                       .second = Centres ? result_of<T>(call, 2) : nullptr,
                                       .split = facts.width};
          return sum_columns<N>("norm_gradient of the gain", source, facts.rows, facts.width,
                                scratch_of(call), result, task.stream);
        }));
        const auto buffers = {x, gain, dy, residual, static_cast<const void*>(call.results[0])};
        return dispatch(type, width, buffers, [&]<class T, int N>() {
          return dispatch_row_packs<N>(facts.width, [&]<int Packs>() {
            return launch("norm_gradient", norm_gradient_kernel<Centres, T, N, Packs>,
                          rows_grid(static_cast<std::size_t>(facts.rows)), task.stream, facts,
                          static_cast<const T*>(x), static_cast<const T*>(gain), means, inverses,
                          static_cast<const T*>(dy), static_cast<const T*>(residual),
                          result_of<T>(call));
          });
        });
      });
}

}  // namespace

MadeKernel make_norm(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  return signature.kind == OperationKind::layer_norm ? norm<true>(signature)
                                                     : norm<false>(signature);
}

MadeKernel make_norm_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  return signature.kind == OperationKind::layer_norm_gradient ? norm_gradient<true>(signature)
                                                              : norm_gradient<false>(signature);
}

}  // namespace hocket::kernels
