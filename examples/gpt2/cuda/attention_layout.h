#pragma once

// Layouts of attention's matrices in memory, as extents and strides in elements per sequence, head,
// position and column, for kernels that read them in place. The memory layouts are those of ops.h.
// Pure.

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

/// Element (b, h, t, c) is Σ index · stride elements from the first.
struct HeadsLayout {
  std::array<std::int64_t, 4> extents = {}, strides = {};  ///< by sequence, head, position, column
  bool operator==(const HeadsLayout&) const = default;
};

inline Result<void> validate(const AttentionShape& shape) {
  const bool positive = shape.batch > 0 && shape.sequence > 0 && shape.heads > 0 && shape.width > 0;
  if (positive && shape.width % shape.heads == 0) return {};
  return invalid("attention over " + std::to_string(shape.batch) + " × " +
                 std::to_string(shape.sequence) + " positions with " + std::to_string(shape.heads) +
                 " heads of width " + std::to_string(shape.width) +
                 " together: all must be positive, and the width a multiple of the heads");
}

/// Returns the layout of one vector per head in rows of `row_elements`: the queries, keys or values
/// of qkv, or y.
inline HeadsLayout heads_layout(const AttentionShape& shape, std::int64_t row_elements) {
  const std::int64_t head_width = shape.width / shape.heads;
  return {.extents = {shape.batch, shape.heads, shape.sequence, head_width},
          .strides = {shape.sequence * row_elements, head_width, row_elements, 1}};
}

inline HeadsLayout qkv_layout(const AttentionShape& shape) {
  return heads_layout(shape, std::int64_t{3} * shape.width);
}

inline HeadsLayout output_layout(const AttentionShape& shape) {
  return heads_layout(shape, shape.width);
}

/// Returns a dense layout with `columns` numbers for each head and position.
inline HeadsLayout dense_layout(const AttentionShape& shape, std::int64_t columns) {
  const std::int64_t head = shape.sequence * columns;
  return {.extents = {shape.batch, shape.heads, shape.sequence, columns},
          .strides = {shape.heads * head, head, columns, 1}};
}

/// Returns the layout of one float for each head and position.
inline HeadsLayout statistics_layout(const AttentionShape& shape) {
  return dense_layout(shape, 1);
}

/// Returns the layout of the attention weights: one number for each pair of positions.
inline HeadsLayout weights_layout(const AttentionShape& shape) {
  return dense_layout(shape, shape.sequence);
}

/// Returns the layout of the same memory with positions and columns exchanged.
inline HeadsLayout transposed(HeadsLayout layout) {
  std::swap(layout.extents[2], layout.extents[3]);
  std::swap(layout.strides[2], layout.strides[3]);
  return layout;
}

/// Returns the distance from a row's first query to its first key, and from that to its first
/// value.
inline std::int64_t qkv_part_elements(const AttentionShape& shape) {
  return shape.width;
}

}  // namespace hocket
