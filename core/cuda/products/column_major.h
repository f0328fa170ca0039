#pragma once

// Expresses products of row-major matrices for a library that takes column-major ones. A row-major
// matrix in memory equals its column-major transpose, and (a·b)ᵀ = bᵀ·aᵀ. So b becomes the first
// matrix and a the second, neither is moved, and columns of c are rows of the result. Pure.

#include <compare>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/products/matrix_product.h"
#include "core/step/element_type.h"

namespace hocket {

/// Element (row, column) of matrix i of a batch is at i·batch_stride + column·leading + row.
struct ColumnMajorMatrix {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int64_t batch_stride = 0;
  /// Largest power of two that divides the address, at most kMostAlignmentBytes.
  std::uint32_t alignment_bytes = 0;

  auto operator<=>(const ColumnMajorMatrix&) const = default;
};

/// result = epilogue(scale·(first or firstᵀ)·(second or secondᵀ) + added): everything in a
/// MatrixProduct that the choice of an algorithm depends on. It depends on the alignment of the
/// addresses, not on the addresses themselves.
struct ColumnMajorProduct {
  ColumnMajorMatrix first, second, result;
  bool transpose_first = false, transpose_second = false;
  std::uint32_t added_alignment_bytes = 0;  ///< 0: nothing is added
  Epilogue epilogue = Epilogue::none;
  std::uint32_t bias_alignment_bytes = 0;  ///< alignment of the bias; 0: none
  std::uint32_t gelu_alignment_bytes = 0;  ///< alignment of gelu_input; 0: none
  int batch = 1;

  auto operator<=>(const ColumnMajorProduct&) const = default;
};

inline constexpr std::uint32_t kMostAlignmentBytes = 256;
/// Requirements of the kernels that read or write gelu_input: its alignment, and the number that
/// must divide the columns of c.
inline constexpr std::uint32_t kGeluAlignmentBytes = 16;
inline constexpr int kGeluColumns = 8;

/// Returns the product in column-major terms. Returns invalid_argument when sizes, types or strides
/// do not match, when matrices of c would overlap each other, when a required operand is missing or
/// an unused one is given, or when an address is not sufficiently aligned.
Result<ColumnMajorProduct> column_major(const MatrixProduct& product);

}  // namespace hocket
