// Matrix products.

#include "core/graph/interpreter/computation.h"
#include "core/graph/interpreter/multi_index.h"

namespace hocket {
namespace {

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

}  // namespace

void compute_matmul(Computation& computation) {
  const Matrix a(computation.shape(0), computation.attributes.flag("transpose_a"));
  const Matrix b(computation.shape(1), computation.attributes.flag("transpose_b"));
  const Shape batch = without_matrix(computation.results[0].type.shape);
  std::size_t at = 0;
  walk(batch, broadcast_strides(without_matrix(computation.shape(0)), batch),
       broadcast_strides(without_matrix(computation.shape(1)), batch),
       [&](std::size_t in_a, std::size_t in_b) {
         const double* const left = computation.x(0).data() + in_a * a.rows * a.columns;
         const double* const right = computation.x(1).data() + in_b * b.rows * b.columns;
         for (std::size_t i = 0; i < a.rows; ++i) {
           for (std::size_t j = 0; j < b.columns; ++j) {
             double sum = 0;
             for (std::size_t k = 0; k < b.rows; ++k) sum += left[a.at(i, k)] * right[b.at(k, j)];
             computation.y()[at++] = sum;
           }
         }
       });
}

}  // namespace hocket
