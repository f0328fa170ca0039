// Matrix products. What an epilogue adds is part of the product where the library has that,
// otherwise it is done in one pass over what was just made.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/products/column_major.h"
#include "kernels/cuda/product_kernels.h"
#include "kernels/cuda/product_steps.h"
#include "kernels/repeated.h"

namespace hocket::kernels {
namespace {

/// A product with its epilogue. Places beyond the operands and results are of none.
struct ProductFacts {
  std::int64_t rows = 0, columns = 0, inner = 0;  ///< of one matrix
  std::int64_t matrices = 1;
  bool transposes_a = false, transposes_b = false;
  Curve activation = Curve::none, gradient = Curve::none;
  std::size_t bias = 0, before = 0, residual = 0;  ///< operands
  std::size_t kept = 0, sums = 0;                  ///< results
  bool has_bias = false, has_residual = false, keeps = false, has_sums = false;
  ElementType narrow = ElementType::float32, wide = ElementType::float32;  ///< of a, and of y

  bool passes_again() const { return activation != Curve::none || gradient != Curve::none; }
};

std::size_t result_place(const KernelSignature& signature, std::string_view name) {
  const auto names = result_names(signature.kind, signature.attributes);
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

Shape without_matrix_dimensions(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

Result<ProductFacts> facts_of_product(const KernelSignature& signature) {
  const Attributes& attributes = signature.attributes;
  const Shape &a = signature.operands[0].shape, &y = signature.results[0].shape;
  ProductFacts facts{.rows = y[y.size() - 2],
                     .columns = y.back(),
                     .matrices = count_of(without_matrix_dimensions(y)),
                     .transposes_a = attributes.flag("transpose_a"),
                     .transposes_b = attributes.flag("transpose_b"),
                     .activation = curve_of(attributes.word("activation")),
                     .gradient = curve_of(attributes.word("gradient_of")),
                     .bias = place_of(signature, "bias"),
                     .before = place_of(signature, "before"),
                     .residual = place_of(signature, "residual"),
                     .kept = result_place(signature, "before"),
                     .sums = result_place(signature, "sums"),
                     .narrow = element_type(signature.operands[0].numbers),
                     .wide = element_type(signature.results[0].numbers)};
  facts.has_bias = facts.bias < signature.operands.size();
  facts.has_residual = facts.residual < signature.operands.size();
  facts.keeps = facts.kept < signature.results.size();
  facts.has_sums = facts.sums < signature.results.size();
  facts.inner = facts.transposes_a ? a[a.size() - 2] : a.back();
  // All matrices of a with one b are one matrix with more rows.
  if (!facts.transposes_a && signature.operands[1].count() == facts.inner * facts.columns &&
      signature.operands[0].count() == facts.matrices * facts.rows * facts.inner) {
    facts.rows *= facts.matrices;
    facts.matrices = 1;
  }
  HOCKET_TRY(check_sizes({facts.rows, facts.columns, facts.inner, facts.matrices}));
  return facts;
}

bool is_aligned_to(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// A product, and where its parts are, for one run.
class RunningProduct {
 public:
  RunningProduct(const ProductFacts& facts, KnownProducts& products, const KernelCall& call,
                 const DeviceTask& task)
      : facts_(facts), products_(products), call_(call), task_(task) {}

  /// Multiplies matrices that are the innermost dimension of `walk`, for each index of the others.
  Result<void> run(const Repeated<2>& walk) {
    if (facts_.matrices == 1 && can_fuse()) {
      const auto multiplied = products_.multiply_if_there(fused(), task_);
      HOCKET_TRY(multiplied);
      if (*multiplied) return {};
    }
    const bool adds = facts_.has_residual && !facts_.passes_again();
    HOCKET_TRY(multiply_all(walk, adds ? call_.operands[facts_.residual] : nullptr));
    if (!facts_.has_bias && !facts_.passes_again()) return {};
    FinishedProduct finished = finishing();
    if (adds) finished.residual = nullptr;
    return finish_product(finished, task_.stream);
  }

 private:
  const void* operand(std::size_t place) const { return optional_operand(call_, place); }

  /// An epilogue of the library's: a bias, GELU with what was before, or GELU's slope. GELU's own
  /// tanh is exact enough for bfloat16 alone.
  bool can_fuse() const {
    const bool is_narrow = facts_.wide == ElementType::bfloat16;
    const bool has_columns = facts_.columns % kGeluColumns == 0;
    if (facts_.gradient == Curve::gelu) {
      return is_narrow && has_columns && !facts_.has_bias && !facts_.has_residual &&
             facts_.activation == Curve::none &&
             is_aligned_to(operand(facts_.before), kGeluAlignmentBytes);
    }
    if (facts_.gradient != Curve::none || !facts_.has_bias || facts_.narrow != facts_.wide)
      return false;
    if (facts_.activation == Curve::none) return true;
    return facts_.activation == Curve::gelu && is_narrow && has_columns && facts_.keeps &&
           !facts_.has_residual && is_aligned_to(call_.results[facts_.kept], kGeluAlignmentBytes);
  }

  MatrixProduct plain(const void* a, const void* b, void* c, ElementType type) const {
    const auto matrix = [](const void* values, ElementType of, std::int64_t rows,
                           std::int64_t columns) {
      return DeviceMatrix{.values = const_cast<void*>(values),
                          .type = of,
                          .rows = static_cast<int>(rows),
                          .columns = static_cast<int>(columns)};
    };
    MatrixProduct product;
    product.transpose_a = facts_.transposes_a;
    product.transpose_b = facts_.transposes_b;
    product.a = facts_.transposes_a ? matrix(a, facts_.narrow, facts_.inner, facts_.rows)
                                    : matrix(a, facts_.narrow, facts_.rows, facts_.inner);
    product.b = facts_.transposes_b ? matrix(b, facts_.narrow, facts_.columns, facts_.inner)
                                    : matrix(b, facts_.narrow, facts_.inner, facts_.columns);
    product.c = matrix(c, type, facts_.rows, facts_.columns);
    return product;
  }

  MatrixProduct fused() const {
    MatrixProduct product =
        plain(call_.operands[0], call_.operands[1], call_.results[0], facts_.wide);
    product.added = operand(facts_.residual);
    if (facts_.gradient == Curve::gelu) {
      product.epilogue = Epilogue::gelu_gradient;
      product.gelu_input = const_cast<void*>(operand(facts_.before));
      return product;
    }
    product.epilogue = Epilogue::bias;
    product.bias = operand(facts_.bias);
    if (facts_.activation == Curve::gelu) {
      product.epilogue = Epilogue::bias_gelu;
      product.gelu_input = call_.results[facts_.kept];
    }
    return product;
  }

  /// Returns whether the product is made in the memory of the kept value, since y may be in that of
  /// the residual, which is still to be added.
  bool is_made_apart() const {
    return facts_.keeps && facts_.has_residual && facts_.passes_again();
  }

  Result<void> multiply_all(const Repeated<2>& walk, const void* added) {
    const ElementType type = is_made_apart() ? facts_.narrow : facts_.wide;
    auto* const to =
        static_cast<std::byte*>(is_made_apart() ? call_.results[facts_.kept] : call_.results[0]);
    const std::int64_t a_bytes = bytes_of(facts_.rows * facts_.inner, facts_.narrow);
    const std::int64_t b_bytes = bytes_of(facts_.inner * facts_.columns, facts_.narrow);
    const std::int64_t c_bytes = bytes_of(facts_.rows * facts_.columns, type);
    Result<void> all;
    each_row(
        walk, 0, facts_.matrices,
        [&](std::int64_t first, const std::array<std::int64_t, 2>& places, std::int64_t count) {
          if (!all) return;
          MatrixProduct product =
              plain(static_cast<const std::byte*>(call_.operands[0]) + places[0] * a_bytes,
                    static_cast<const std::byte*>(call_.operands[1]) + places[1] * b_bytes,
                    to + first * c_bytes, type);
          if (added) product.added = static_cast<const std::byte*>(added) + first * c_bytes;
          if (count > 1) {
            product.batch = static_cast<int>(count);
            product.a.batch_stride = walk.inner(0) * facts_.rows * facts_.inner;
            product.b.batch_stride = walk.inner(1) * facts_.inner * facts_.columns;
            product.c.batch_stride = facts_.rows * facts_.columns;
          }
          all = products_.multiply(product, task_);
        });
    return all;
  }

  static std::int64_t bytes_of(std::int64_t numbers, ElementType type) {
    return numbers * static_cast<std::int64_t>(element_bytes(type));
  }

  FinishedProduct finishing() const {
    return {.rows = facts_.rows * facts_.matrices,
            .columns = facts_.columns,
            .activation = facts_.activation,
            .gradient = facts_.gradient,
            .narrow = facts_.narrow,
            .from = is_made_apart() ? facts_.narrow : facts_.wide,
            .to = facts_.wide,
            .z = is_made_apart() ? call_.results[facts_.kept] : call_.results[0],
            .bias = operand(facts_.bias),
            .before = operand(facts_.before),
            .residual = operand(facts_.residual),
            .kept = facts_.keeps ? call_.results[facts_.kept] : nullptr,
            .y = call_.results[0]};
  }

  const ProductFacts& facts_;
  KnownProducts& products_;
  const KernelCall& call_;
  const DeviceTask& task_;
};

/// The kernel that sums a as it is multiplied.
MadeKernel make_sums(const KernelSignature& signature, const ProductFacts& facts) {
  const std::int64_t dimension = facts.transposes_a ? 0 : 1;
  return make_sum({.kind = OperationKind::sum,
                   .attributes = {{"dimensions", Shape{dimension}}, {"keep", false}},
                   .operands = {signature.operands[0]},
                   .results = {signature.results[facts.sums]}});
}

}  // namespace

MadeKernel make_matmul(const KernelSignature& signature,
                       const std::shared_ptr<KnownProducts>& products) {
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
  const Repeated<2> walk(batch, {batch_strides(0), batch_strides(1)});
  KernelPlan plan;
  // The product is where the result is before an activation reads the residual.
  if (facts.has_residual && (!facts.passes_again() || facts.keeps))
    plan.in_place = {{0, facts.residual}};
  std::shared_ptr<const Kernel> sums;
  if (facts.has_sums) {
    auto kernel = make_sums(signature, facts);
    HOCKET_TRY(kernel);
    sums = std::move(*kernel);
    plan.scratch_bytes = sums->scratch_bytes();
  }
  return cuda_kernel(
      std::move(plan),
      [=, facts = facts](const KernelCall& call, const DeviceTask& task) -> Result<void> {
        HOCKET_TRY(RunningProduct(facts, *products, call, task).run(walk));
        if (!sums) return {};
        return sums->run(
            {call.operands.first(1), call.results.subspan(facts.sums, 1), call.scratch});
      });
}

}  // namespace hocket::kernels
