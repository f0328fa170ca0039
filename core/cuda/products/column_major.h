#pragma once

// Products of row-major matrices in the words of a library that takes column-major ones: such a
// matrix lies in memory as the row-major transpose does, and (a·b)ᵀ = bᵀ·aᵀ. So b comes first and a
// second, neither moves, and columns of c are rows of the result. Pure.

#include <compare>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/driver/element_type.h"
#include "core/cuda/products/matrix_product.h"

namespace hocket {

/// Element (row, column) of a batch's matrix i lies at i·batch_stride + column·leading + row.
struct ColumnMajorMatrix {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int64_t batch_stride = 0;
  /// The largest power of two that divides its address, up to kMostAlignmentBytes.
  std::uint32_t alignment_bytes = 0;

  auto operator<=>(const ColumnMajorMatrix&) const = default;
};

/// result = epilogue(scale·(first or firstᵀ)·(second or secondᵀ) + added): all of a MatrixProduct
/// that the choice of an algorithm depends on, which is not the addresses but how they are aligned.
struct ColumnMajorProduct {
  ColumnMajorMatrix first, second, result;
  bool transpose_first = false, transpose_second = false;
  std::uint32_t added_alignment_bytes = 0;  ///< 0: nothing is added
  Epilogue epilogue = Epilogue::none;
  std::uint32_t bias_alignment_bytes = 0;  ///< 0: none
  std::uint32_t gelu_alignment_bytes = 0;  ///< of gelu_input; 0: none
  int batch = 1;

  auto operator<=>(const ColumnMajorProduct&) const = default;
};

inline constexpr std::uint32_t kMostAlignmentBytes = 256;
/// Of gelu_input, for those kernels that read and write it: its address, and of c the columns.
inline constexpr std::uint32_t kGeluAlignmentBytes = 16;
inline constexpr int kGeluColumns = 8;

/// invalid_argument when sizes, types or strides do not fit each other, a matrix of c would overlap
/// another, an operand that is needed is missing or one is given that is not used, an address is
/// not aligned as it must be.
Result<ColumnMajorProduct> column_major(const MatrixProduct& product);

}  // namespace hocket
