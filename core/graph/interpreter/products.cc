// Matrix products.

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/interpreter/computation.h"
#include "core/graph/interpreter/multi_index.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// One of the matrices in an operand: strides of its rows and columns as they are multiplied.
struct Matrix {
  Matrix(const Shape& shape, bool is_transposed) {
    rows = static_cast<std::size_t>(shape[shape.size() - 2]);
    columns = static_cast<std::size_t>(shape.back());
    row_stride = columns;
    if (!is_transposed) return;
    std::swap(rows, columns);
    std::swap(row_stride, column_stride);
  }
  std::size_t at(std::size_t row, std::size_t column) const {
    return row * row_stride + column * column_stride;
  }

  std::size_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;
};

Shape without_matrix(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

/// The operations on each number of a product before it is stored.
template <class T>
class Epilogue {
 public:
  explicit Epilogue(Computation<T>& computation)
      : computation_(computation),
        bias_(operand("bias")),
        before_(operand("before")),
        residual_(operand("residual")),
        activation_(kind_of("activation", "")),
        gradient_(kind_of("gradient_of", "_gradient")),
        keeps_before_(computation.attributes.flag("keeps_before")) {}

  /// Gives number `at` of the result, which is in a column, from that of the product.
  void give(std::size_t at, std::size_t column, T product) {
    if (bias_) product += (*bias_)[column];
    if (keeps_before_) computation_.y(1)[at] = product;
    if (activation_) product = elementwise(*activation_, product);
    if (gradient_) product = elementwise(*gradient_, (*before_)[at], product);
    if (residual_) product += (*residual_)[at];
    computation_.y()[at] = product;
  }

 private:
  const std::vector<T>* operand(std::string_view name) const {
    const auto place = operand_place(Kind::matmul, computation_.attributes, name);
    return place ? &computation_.x(*place) : nullptr;
  }
  std::optional<Kind> kind_of(std::string_view attribute, std::string_view end) const {
    const std::string& word = computation_.attributes.word(attribute);
    if (word == "none") return std::nullopt;
    return parse_operation_kind(word + std::string(end)).value();
  }

  Computation<T>& computation_;
  const std::vector<T>*const bias_, *const before_, *const residual_;
  const std::optional<Kind> activation_, gradient_;
  const bool keeps_before_;
};

/// Sums operand a over the dimension that the product sums.
template <class T>
void sum_of_a(const Matrix& a, const std::vector<T>& x, std::vector<T>& sums) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k) sums[i] += x[a.at(i, k)];
}

}  // namespace

template <class T>
void compute_matmul(Computation<T>& computation) {
  const Matrix a(computation.shape(0), computation.attributes.flag("transpose_a"));
  const Matrix b(computation.shape(1), computation.attributes.flag("transpose_b"));
  const Shape batch = without_matrix(computation.results[0].type.shape);
  if (computation.attributes.flag("sums_a"))
    sum_of_a(a, computation.x(0), computation.results.back().values);
  Epilogue<T> epilogue(computation);
  std::size_t at = 0;
  walk(batch, broadcast_strides(without_matrix(computation.shape(0)), batch),
       broadcast_strides(without_matrix(computation.shape(1)), batch),
       [&](std::size_t in_a, std::size_t in_b) {
         const T* const left = computation.x(0).data() + in_a * a.rows * a.columns;
         const T* const right = computation.x(1).data() + in_b * b.rows * b.columns;
         for (std::size_t i = 0; i < a.rows; ++i) {
           for (std::size_t j = 0; j < b.columns; ++j) {
             T sum = 0;
             for (std::size_t k = 0; k < b.rows; ++k) sum += left[a.at(i, k)] * right[b.at(k, j)];
             epilogue.give(at++, j, sum);
           }
         }
       });
}

HOCKET_FOR_ALL_NUMBERS(void, compute_matmul);

}  // namespace hocket
