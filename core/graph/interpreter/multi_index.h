#pragma once

// Walks over the numbers of values in the order of their dimensions. Private to core/graph. Pure.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/graph/value_type.h"

namespace hocket {

/// Distance of neighbours in each dimension, in numbers; 0 where a dimension is repeated.
using Strides = std::vector<std::int64_t>;

inline Strides strides_of(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// Returns the strides with which a value of `shape` is repeated to `to`. Requires that it can be.
inline Strides broadcast_strides(const Shape& shape, const Shape& to) {
  const Strides own = strides_of(shape);
  Strides strides(to.size(), 0);
  const std::size_t missing = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) strides[missing + i] = own[i];
  return strides;
}

/// Calls visit(offset by `one`, offset by `other`) for each index of `shape`, in order.
template <class Visit>
void walk(const Shape& shape, const Strides& one, const Strides& other, Visit visit) {
  std::array<std::int64_t, kMostDimensions> index{};
  std::int64_t at = 0, other_at = 0;
  for (std::int64_t left = count_of(shape); left > 0; --left) {
    visit(static_cast<std::size_t>(at), static_cast<std::size_t>(other_at));
    for (std::size_t i = shape.size(); i-- > 0;) {
      at += one[i];
      other_at += other[i];
      if (++index[i] < shape[i]) break;
      at -= one[i] * shape[i];
      other_at -= other[i] * shape[i];
      index[i] = 0;
    }
  }
}

}  // namespace hocket
