#include "core/cuda/products/column_major.h"

#include <cstdint>
#include <string>
#include <utility>

namespace hocket {
namespace {

/// Above any possible size of memory, and small enough that no index overflows.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

std::uint32_t alignment_of(const void* address) {
  if (!address) return 0;
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | kMostAlignmentBytes;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

std::string size_words(const DeviceMatrix& matrix) {
  return std::to_string(matrix.rows) + " × " + std::to_string(matrix.columns);
}

std::int64_t row_stride_of(const DeviceMatrix& matrix) {
  return matrix.row_stride == 0 ? matrix.columns : matrix.row_stride;
}

/// Checks `matrix` by itself; `name` is its name in messages.
Result<void> check_matrix(const std::string& name, const DeviceMatrix& matrix, bool is_batch) {
  if (matrix.rows < 1 || matrix.columns < 1)
    return invalid(name + " is " + size_words(matrix) + ": must have at least 1 row and column");
  const std::int64_t row_stride = row_stride_of(matrix);
  if (row_stride < matrix.columns || row_stride > kMostElements / matrix.rows)
    return invalid(name + ".row_stride is " + std::to_string(row_stride) +
                   ": must be 0 or from its columns, " + std::to_string(matrix.columns) + ", to " +
                   std::to_string(kMostElements / matrix.rows));
  if (is_batch && (matrix.batch_stride < 0 || matrix.batch_stride > kMostElements))
    return invalid(name + ".batch_stride is " + std::to_string(matrix.batch_stride) +
                   ": must be from 0 to " + std::to_string(kMostElements));
  if (!matrix.values) return invalid(name + " has no values");
  if (alignment_of(matrix.values) < element_bytes(matrix.type))
    return invalid(name + " is not aligned to its elements");
  return {};
}

Result<void> check_sizes(const MatrixProduct& product) {
  const DeviceMatrix &a = product.a, &b = product.b, &c = product.c;
  const auto [rows, inner_a] =
      product.transpose_a ? std::pair(a.columns, a.rows) : std::pair(a.rows, a.columns);
  const auto [inner_b, columns] =
      product.transpose_b ? std::pair(b.columns, b.rows) : std::pair(b.rows, b.columns);
  if (inner_a != inner_b)
    return invalid("the inner sizes of a and b are " + std::to_string(inner_a) + " and " +
                   std::to_string(inner_b) + ": must be equal");
  if (c.rows != rows || c.columns != columns)
    return invalid("c is " + size_words(c) + ": must be " + std::to_string(rows) + " × " +
                   std::to_string(columns));
  if (a.type != b.type) return invalid("a and b have different types");
  if (c.type != a.type && c.type != ElementType::float32)
    return invalid("c must have the type of a and b, or be float32");
  return {};
}

Result<void> check_batch(const MatrixProduct& product) {
  if (product.batch < 1)
    return invalid("batch is " + std::to_string(product.batch) + ": must be at least 1");
  if (product.batch == 1) return {};
  const DeviceMatrix& c = product.c;
  const std::int64_t row_stride = row_stride_of(c);
  const std::int64_t needed = (c.rows - 1) * row_stride + c.columns;
  // The matrices lie side by side, as heads of attention do: each has some columns of the same
  // rows.
  const bool are_beside = c.batch_stride >= c.columns &&
                          c.batch_stride <= (row_stride - c.columns) / (product.batch - 1);
  if (c.batch_stride < needed && !are_beside)
    return invalid("c.batch_stride is " + std::to_string(c.batch_stride) +
                   ": must be at least the elements of a matrix, " + std::to_string(needed) +
                   ", or its columns, " + std::to_string(c.columns) +
                   ", where all matrices lie beside each other within a row_stride");
  if (product.epilogue != Epilogue::none) return invalid("a batch can have no epilogue");
  return {};
}

/// Checks that the operands of the epilogue are given, and no others.
Result<void> check_epilogue(const MatrixProduct& product) {
  const Epilogue epilogue = product.epilogue;
  const bool biased = epilogue == Epilogue::bias || epilogue == Epilogue::bias_gelu;
  const bool gelu = epilogue == Epilogue::bias_gelu || epilogue == Epilogue::gelu_gradient;
  if (biased != (product.bias != nullptr))
    return invalid(biased ? "the epilogue needs a bias" : "a bias, but no epilogue that adds it");
  if (gelu != (product.gelu_input != nullptr))
    return invalid(gelu ? "the epilogue needs gelu_input"
                        : "gelu_input, but no epilogue that uses it");
  if (gelu && product.c.columns % kGeluColumns != 0)
    return invalid("c has " + std::to_string(product.c.columns) +
                   " columns: with gelu_input must be a multiple of " +
                   std::to_string(kGeluColumns));
  if (gelu && alignment_of(product.gelu_input) < kGeluAlignmentBytes)
    return invalid("gelu_input must be aligned to " + std::to_string(kGeluAlignmentBytes) +
                   " bytes");
  for (const void* operand : {product.bias, product.added}) {
    if (operand && alignment_of(operand) < element_bytes(product.c.type))
      return invalid("bias and added must be aligned to the elements of c");
  }
  return {};
}

ColumnMajorMatrix column_major(const DeviceMatrix& matrix, bool is_batch) {
  return {.type = matrix.type,
          .rows = matrix.columns,
          .columns = matrix.rows,
          .leading = row_stride_of(matrix),
          .batch_stride = is_batch ? matrix.batch_stride : 0,
          .alignment_bytes = alignment_of(matrix.values)};
}

}  // namespace

Result<ColumnMajorProduct> column_major(const MatrixProduct& product) {
  const bool is_batch = product.batch > 1;
  Result<void> ok = check_matrix("a", product.a, is_batch);
  if (ok) ok = check_matrix("b", product.b, is_batch);
  if (ok) ok = check_matrix("c", product.c, is_batch);
  if (ok) ok = check_sizes(product);
  if (ok) ok = check_batch(product);
  if (ok) ok = check_epilogue(product);
  if (!ok) return failure(ok.error().in("matrix product"));
  return ColumnMajorProduct{.first = column_major(product.b, is_batch),
                            .second = column_major(product.a, is_batch),
                            .result = column_major(product.c, is_batch),
                            .transpose_first = product.transpose_b,
                            .transpose_second = product.transpose_a,
                            .added_alignment_bytes = alignment_of(product.added),
                            .epilogue = product.epilogue,
                            .bias_alignment_bytes = alignment_of(product.bias),
                            .gelu_alignment_bytes = alignment_of(product.gelu_input),
                            .batch = product.batch};
}

}  // namespace hocket
