// Matrix products. What an epilogue adds is in the result before the product is added to it, or is
// done in one pass over the rows that were just made.
//
// The units are blocks of rows, each a product of its own: OpenBLAS chooses its ways by the sizes,
// so that only equal products have equal bits.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/host/blas.h"
#include "kernels/host/host_kernel.h"
#include "kernels/host/row_sums.h"
#include "kernels/host/vector_maths.h"
#include "kernels/host/vectors.h"
#include "kernels/repeated.h"

namespace hocket {
namespace {

/// Fewest rows of a unit: products of fewer are slower by some percent.
constexpr std::int64_t kUnitRows = 256;
/// Fewest summands of each number of a product in one of the parts into which sums divide.
constexpr std::int64_t kSummandsOfPart = 16;
/// Most units of a matrix, as far as the rows say: enough for all streams of a host.
constexpr std::int64_t kMostUnits = 8;

enum class Curve : std::uint8_t { none, relu, gelu, silu };

Curve curve_of(const std::string& word) {
  if (word == "relu") return Curve::relu;
  if (word == "gelu") return Curve::gelu;
  return word == "silu" ? Curve::silu : Curve::none;
}

/// A product with its epilogue. An operand or a result that is not there is nothing.
struct ProductFacts {
  std::int64_t rows = 0, columns = 0, inner = 0;  ///< of one matrix
  std::int64_t matrices = 1;
  bool transposes_a = false, transposes_b = false;
  std::int64_t a_numbers = 0, b_numbers = 0;  ///< of one matrix
  std::int64_t unit_rows = 0, units = 0;      ///< units of one matrix
  Curve activation = Curve::none, gradient = Curve::none;
  std::optional<std::size_t> bias, before, residual;  ///< operands
  std::optional<std::size_t> kept_before, sums;       ///< results

  bool passes_again() const { return activation != Curve::none || gradient != Curve::none; }
  /// Returns whether the sums of numbers divide, as those of gradients of weights do.
  bool divides_sums() const {
    return matrices == 1 && transposes_a && !transposes_b && !passes_again() && !bias;
  }
};

/// Some rows of one matrix of the product, and where they are.
struct ProductRows {
  std::int64_t first = 0, count = 0;  ///< rows of the matrix
  std::int64_t place = 0;             ///< first number of the rows in the result
};

/// Lays the bias, the residual or both into rows to which the product is added.
struct PrefillLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t rows, std::int64_t columns,
                                                const float* bias, const float* residual,
                                                float* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const out = y + row * columns;
      const float* const skip = residual ? residual + row * columns : nullptr;
      if (bias && skip) {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) out[i] = bias[i] + skip[i];
      } else {
        const float* const from = bias ? bias : skip;
        if (from == out) continue;
        for (std::int64_t i = 0; i < columns; ++i) out[i] = from[i];
      }
    }
  }
};

struct ReluCurve {
  [[gnu::always_inline]] static inline float value(float x) { return relu_of(x); }
  [[gnu::always_inline]] static inline float slope(float x, float dy) { return x <= 0 ? 0.0f : dy; }
};
struct GeluCurve {
  [[gnu::always_inline]] static inline float value(float x) { return gelu_of(x); }
  [[gnu::always_inline]] static inline float slope(float x, float dy) {
    return gelu_slope_of(x) * dy;
  }
};
struct SiluCurve {
  [[gnu::always_inline]] static inline float value(float x) { return silu_of(x); }
  [[gnu::always_inline]] static inline float slope(float x, float dy) {
    return silu_slope_of(x) * dy;
  }
};

/// y = f(z + bias) + residual, with z where y is, or kept. What is not there is null.
template <class Function>
struct ActivationLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t rows, std::int64_t columns,
                                                const float* bias, const float* residual, float* z,
                                                float* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const in = z + row * columns;
      float* const out = y + row * columns;
      const float* const skip = residual ? residual + row * columns : nullptr;
      if (bias) {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) in[i] += bias[i];
      }
      if (skip) {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) out[i] = Function::value(in[i]) + skip[i];
      } else {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) out[i] = Function::value(in[i]);
      }
    }
  }
};

/// y = y · f′(before) + residual, with the bias added before.
template <class Function>
struct SlopeLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t rows, std::int64_t columns,
                                                const float* bias, const float* residual,
                                                const float* before, float* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const in = before + row * columns;
      float* const out = y + row * columns;
      const float* const skip = residual ? residual + row * columns : nullptr;
      if (bias) {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) out[i] += bias[i];
      }
      if (skip) {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i)
          out[i] = Function::slope(in[i], out[i]) + skip[i];
      } else {
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) out[i] = Function::slope(in[i], out[i]);
      }
    }
  }
};

/// Runs the loop for a curve, which is one.
template <template <class> class Loop, class... Arguments>
void run_curve(Curve curve, Arguments... arguments) {
  if (curve == Curve::relu) return run_loop<Loop<ReluCurve>>(arguments...);
  if (curve == Curve::gelu) return run_loop<Loop<GeluCurve>>(arguments...);
  run_loop<Loop<SiluCurve>>(arguments...);
}

/// Sums rows of a as it is multiplied: rows of the matrix, or columns if it is transposed.
struct SumsOfALoop {
  [[gnu::always_inline]] static inline void run(const float* a, bool is_transposed,
                                                std::int64_t rows, std::int64_t inner,
                                                UnitRange range, float* sums) {
    if (!is_transposed) {
      for (std::int64_t i = range.begin; i < range.end; ++i)
        sums[i] = row_sum(a + i * inner, inner);
      return;
    }
    for (std::int64_t i = range.begin; i < range.end; ++i) sums[i] = 0;
    add_columns(a, rows, {0, inner}, range, sums);
  }

  /// Adds up these rows of memory, of which these columns.
  [[gnu::always_inline]] static inline void add_columns(const float* a, std::int64_t rows,
                                                        UnitRange summed, UnitRange range,
                                                        float* sums) {
    for (std::int64_t k = summed.begin; k < summed.end; ++k) {
      const float* const from = a + k * rows;
#pragma omp simd
      for (std::int64_t i = range.begin; i < range.end; ++i) sums[i] += from[i];
    }
  }
};

struct AddColumnsLoop {
  [[gnu::always_inline]] static inline void run(const float* a, std::int64_t rows, UnitRange summed,
                                                float* sums) {
    SumsOfALoop::add_columns(a, rows, summed, {0, rows}, sums);
  }
};

void multiply_rows(const ProductFacts& facts, const KernelCall& call, const float* a,
                   const float* b, const ProductRows& rows) {
  const auto at = [&](std::optional<std::size_t> operand) {
    return operand ? operand_of(call, *operand) + rows.place : nullptr;
  };
  const float* const bias = facts.bias ? operand_of(call, *facts.bias) : nullptr;
  const float* const residual = at(facts.residual);
  float* const y = result_of(call) + rows.place;
  float* const z = facts.kept_before ? result_of(call, *facts.kept_before) + rows.place : y;
  const bool is_prefilled = !facts.passes_again() && (bias || residual);
  if (is_prefilled) run_loop<PrefillLoop>(rows.count, facts.columns, bias, residual, y);
  const BlasMatrix left{facts.transposes_a ? a + rows.first : a + rows.first * facts.inner,
                        facts.transposes_a ? facts.rows : facts.inner, facts.transposes_a};
  const BlasMatrix right{b, facts.transposes_b ? facts.inner : facts.columns, facts.transposes_b};
  blas_multiply(rows.count, facts.columns, facts.inner, 1, left, right, is_prefilled ? 1.0f : 0.0f,
                z, facts.columns);
  if (facts.activation != Curve::none) {
    run_curve<ActivationLoop>(facts.activation, rows.count, facts.columns, bias, residual, z, y);
  } else if (facts.gradient != Curve::none) {
    run_curve<SlopeLoop>(facts.gradient, rows.count, facts.columns, bias, residual,
                         at(facts.before), y);
  }
  if (!facts.sums) return;
  // Columns are summed row by row, all of them with the last rows.
  UnitRange summed{rows.first, rows.first + rows.count};
  if (facts.transposes_a) summed = {0, summed.end == facts.rows ? facts.rows : 0};
  run_loop<SumsOfALoop>(a, facts.transposes_a, facts.rows, facts.inner, summed,
                        result_of(call, *facts.sums));
}

/// The bytes of a product's results that its units make; they have the same rows each.
std::vector<UnitBytes> unit_bytes_of(const ProductFacts& facts, const KernelSignature& signature) {
  constexpr auto kNumber = static_cast<std::int64_t>(sizeof(float));
  std::vector<UnitBytes> bytes(signature.results.size(),
                               {.each = facts.unit_rows * facts.columns * kNumber});
  if (!facts.sums) return bytes;
  if (facts.transposes_a) {
    bytes[*facts.sums] = {.tail = facts.rows * kNumber};
  } else {
    bytes[*facts.sums] = {.each = facts.unit_rows * kNumber};
  }
  return bytes;
}

/// Computes some summands of a product that divides_sums().
void multiply_summands(const ProductFacts& facts, const KernelCall& call, UnitRange range) {
  const UnitRange summed{range.begin * kSummandsOfPart,
                         std::min(range.end * kSummandsOfPart, facts.inner)};
  const float* const a = operand_of(call, 0) + summed.begin * facts.rows;
  const float* const b = operand_of(call, 1) + summed.begin * facts.columns;
  float* const y = result_of(call);
  const bool is_first = range.begin == 0;
  if (is_first && facts.residual)
    run_loop<PrefillLoop>(facts.rows, facts.columns, nullptr, operand_of(call, *facts.residual), y);
  const float keeps = is_first && !facts.residual ? 0.0F : 1.0F;
  blas_multiply(facts.rows, facts.columns, summed.end - summed.begin, 1, {a, facts.rows, true},
                {b, facts.columns, false}, keeps, y, facts.columns);
  if (!facts.sums) return;
  float* const sums = result_of(call, *facts.sums);
  if (is_first) std::fill_n(sums, facts.rows, 0.0F);
  run_loop<AddColumnsLoop>(operand_of(call, 0), facts.rows, summed, sums);
}

std::optional<std::size_t> result_place(const KernelSignature& signature, std::string_view name) {
  const auto names = result_names(signature.kind, signature.attributes);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

Shape without_matrix_dimensions(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

Result<ProductFacts> facts_of_product(const KernelSignature& signature) {
  const Attributes& attributes = signature.attributes;
  const Shape &a = signature.operands[0].shape, &y = signature.results[0].shape;
  const auto operand = [&](std::string_view name) {
    return operand_place(signature.kind, attributes, name);
  };
  ProductFacts facts{.rows = y[y.size() - 2],
                     .columns = y.back(),
                     .matrices = count_of(without_matrix_dimensions(y)),
                     .transposes_a = attributes.flag("transpose_a"),
                     .transposes_b = attributes.flag("transpose_b"),
                     .activation = curve_of(attributes.word("activation")),
                     .gradient = curve_of(attributes.word("gradient_of")),
                     .bias = operand("bias"),
                     .before = operand("before"),
                     .residual = operand("residual"),
                     .kept_before = result_place(signature, "before"),
                     .sums = result_place(signature, "sums")};
  facts.inner = facts.transposes_a ? a[a.size() - 2] : a.back();
  facts.a_numbers = facts.rows * facts.inner;
  facts.b_numbers = facts.inner * facts.columns;
  // All matrices of a with one b are one matrix with more rows.
  if (!facts.transposes_a && signature.operands[1].count() == facts.b_numbers &&
      signature.operands[0].count() == facts.matrices * facts.a_numbers && !facts.sums) {
    facts.rows *= facts.matrices;
    facts.matrices = 1;
  }
  for (const std::int64_t size : {facts.rows, facts.columns, facts.inner})
    HOCKET_TRY(check_blas_size(size));
  const std::int64_t blocks = (facts.rows + kUnitRows - 1) / kUnitRows;
  facts.unit_rows = kUnitRows * ((blocks + kMostUnits - 1) / kMostUnits);
  facts.units = (facts.rows + facts.unit_rows - 1) / facts.unit_rows;
  return facts;
}

}  // namespace

MadeKernel make_matmul(const KernelSignature& signature) {
  const auto made = facts_of_product(signature);
  HOCKET_TRY(made);
  const ProductFacts& facts = *made;
  const Shape batch =
      facts.matrices == 1 ? Shape() : without_matrix_dimensions(signature.results[0].shape);
  const auto batch_strides = [&](std::size_t operand) {
    return batch.empty() ? DimensionStrides()
                         : repeated_strides(
                               without_matrix_dimensions(signature.operands[operand].shape), batch);
  };
  const Repeated<2> matrices(batch, {batch_strides(0), batch_strides(1)});
  KernelPlan plan{.units = facts.matrices * facts.units};
  if (facts.rows % facts.unit_rows == 0) plan.unit_bytes = unit_bytes_of(facts, signature);
  // The product is where the result is before an activation reads the residual.
  if (facts.residual && (!facts.passes_again() || facts.kept_before))
    plan.in_place = {{0, *facts.residual}};
  const auto run = [=, facts = facts](const KernelCall& call, UnitRange range) {
    std::int64_t unit = range.begin;
    each_row(
        matrices, range.begin / facts.units, (range.end - 1) / facts.units + 1,
        [&](std::int64_t matrix, const std::array<std::int64_t, 2>& places, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i, ++matrix) {
            const std::int64_t of_a = places[0] + i * matrices.inner(0);
            const std::int64_t of_b = places[1] + i * matrices.inner(1);
            const float* const a = operand_of(call, 0) + of_a * facts.a_numbers;
            const float* const b = operand_of(call, 1) + of_b * facts.b_numbers;
            const std::int64_t end = std::min((matrix + 1) * facts.units, range.end);
            for (; unit < end; ++unit) {
              const std::int64_t first = unit % facts.units * facts.unit_rows;
              const std::int64_t rows = std::min(facts.unit_rows, facts.rows - first);
              multiply_rows(facts, call, a, b,
                            {first, rows, (matrix * facts.rows + first) * facts.columns});
            }
          }
        });
  };
  if (!facts.divides_sums()) return host_kernel(std::move(plan), run);
  plan.summands = (facts.inner + kSummandsOfPart - 1) / kSummandsOfPart;
  return summing_kernel(std::move(plan), run,
                        [facts = facts](const KernelCall& call, UnitRange range) {
                          multiply_summands(facts, call, range);
                        });
}

}  // namespace hocket
