#pragma once

// Layouts of attention's matrices in memory, as extents and strides in numbers per sequence, head,
// position and column. Pure.

#include <array>
#include <cstdint>
#include <utility>

namespace hocket {

/// Number (b, h, t, c) is Σ index · stride numbers from the first.
struct HeadsLayout {
  std::array<std::int64_t, 4> extents = {}, strides = {};  ///< by sequence, head, position, column

  auto operator<=>(const HeadsLayout&) const = default;
};

/// Returns the layout of dense matrices.
constexpr HeadsLayout dense_heads(std::int64_t batch, std::int64_t heads, std::int64_t rows,
                                  std::int64_t columns) {
  return {.extents = {batch, heads, rows, columns},
          .strides = {heads * rows * columns, rows * columns, columns, 1}};
}

/// Returns the layout of the same memory with positions and columns exchanged.
constexpr HeadsLayout transposed(HeadsLayout layout) {
  std::swap(layout.extents[2], layout.extents[3]);
  std::swap(layout.strides[2], layout.strides[3]);
  return layout;
}

}  // namespace hocket
