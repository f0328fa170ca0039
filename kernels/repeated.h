#pragma once

// Walks over the rows of a value together with operands that are repeated, or put in another order.
// Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/graph/value_type.h"

namespace hocket {

using DimensionStrides = std::vector<std::int64_t>;

/// Distances of neighbours in each dimension of a dense value.
DimensionStrides dense_strides(const Shape& shape);
/// The same for a value of `shape` that is repeated to `to`: 0 where it is. Requires that it can
/// be.
DimensionStrides repeated_strides(const Shape& shape, const Shape& to);

/// The dimensions of a value, innermost last, with the strides of `Count` operands. Dimensions of
/// size 1 are left out, and neighbours in which all operands go on alike are one.
template <std::size_t Count>
struct Repeated {
  Repeated(const Shape& shape, const std::array<DimensionStrides, Count>& all) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) continue;
      bool goes_on = rank > 0;
      for (std::size_t j = 0; j < Count && goes_on; ++j)
        goes_on = strides[rank - 1][j] == all[j][i] * shape[i];
      if (!goes_on) sizes[rank++] = 1;
      sizes[rank - 1] *= shape[i];
      for (std::size_t j = 0; j < Count; ++j) strides[rank - 1][j] = all[j][i];
    }
    if (rank > 0) return;
    rank = 1;
    sizes[0] = 1;
    strides[0].fill(1);
  }

  std::int64_t count() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < rank; ++i) count *= sizes[i];
    return count;
  }
  /// Numbers of a row, and the strides within it.
  std::int64_t width() const { return sizes[rank - 1]; }
  std::int64_t inner(std::size_t operand) const { return strides[rank - 1][operand]; }

  std::size_t rank = 0;  ///< at least 1
  std::array<std::int64_t, kMostDimensions> sizes{};
  std::array<std::array<std::int64_t, Count>, kMostDimensions> strides{};
};

/// Calls row(first number, places of it in the operands, numbers) for the rows of the numbers from
/// `begin` to `end`, of which the first and the last may be parts.
template <std::size_t Count, class Row>
[[gnu::always_inline]] inline void each_row(const Repeated<Count>& all, std::int64_t begin,
                                            std::int64_t end, const Row& row) {
  if (begin >= end) return;
  const std::size_t inner = all.rank - 1;
  const std::int64_t width = all.width();
  std::array<std::int64_t, kMostDimensions> index{};
  std::array<std::int64_t, Count> places{};
  std::int64_t column = begin % width;
  std::int64_t rest = begin / width;
  for (std::size_t i = inner; i-- > 0;) {
    index[i] = rest % all.sizes[i];
    rest /= all.sizes[i];
    for (std::size_t j = 0; j < Count; ++j) places[j] += index[i] * all.strides[i][j];
  }
  while (begin < end) {
    std::array<std::int64_t, Count> first = places;
    for (std::size_t j = 0; j < Count; ++j) first[j] += column * all.strides[inner][j];
    const std::int64_t count = width - column < end - begin ? width - column : end - begin;
    row(begin, first, count);
    begin += count;
    column = 0;
    for (std::size_t i = inner; i-- > 0;) {
      for (std::size_t j = 0; j < Count; ++j) places[j] += all.strides[i][j];
      if (++index[i] < all.sizes[i]) break;
      for (std::size_t j = 0; j < Count; ++j) places[j] -= all.strides[i][j] * all.sizes[i];
      index[i] = 0;
    }
  }
}

}  // namespace hocket
