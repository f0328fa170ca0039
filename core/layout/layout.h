#pragma once

// The layout of a value on the ranks of a mesh. Along each axis the value is whole on every rank,
// divided along one of its dimensions, or a partial sum, of which each rank has a summand. Pure;
// any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/value_type.h"
#include "core/step/collective_group.h"
#include "core/step/mesh.h"

namespace hocket {

/// The division of a dimension over an axis. The dimension is taken as `parts` equal parts, one
/// after the other, and each of them is divided over the axis, in the order of the ranks: the rows
/// of a weight for queries, keys and values are three parts, of which a rank has a block each.
struct DividedDimension {
  std::size_t axis = 0;
  std::int64_t parts = 1;

  auto operator<=>(const DividedDimension&) const = default;
};

/// A dimension that is divided, within each of `parts` equal parts of it.
struct DividedPlace {
  std::size_t dimension = 0;
  std::int64_t parts = 1;

  bool operator==(const DividedPlace&) const = default;
};

class Layout {
 public:
  Layout() = default;
  /// Whole along all axes.
  explicit Layout(std::size_t rank) : dimensions_(rank) {}

  std::size_t rank() const { return dimensions_.size(); }
  /// Returns the divisions of a dimension, one within the other: first those into fewer parts, then
  /// those over outer axes.
  const std::vector<DividedDimension>& divided(std::size_t dimension) const {
    return dimensions_[dimension];
  }
  /// Returns where the value is divided over an axis, if it is.
  std::optional<DividedPlace> place(std::size_t axis) const;
  bool is_partial(std::size_t axis) const { return partial_.has(axis); }
  bool is_whole(std::size_t axis) const { return !is_partial(axis) && !place(axis); }
  /// Returns whether the value is whole along all axes.
  bool is_whole() const;
  AxisSet partial() const { return partial_; }

  /// Each requires that the value is whole along the axis.
  void divide(std::size_t axis, const DividedPlace& place);
  void make_partial(std::size_t axis) { partial_ = partial_.with(AxisSet::of(axis)); }
  void make_whole(std::size_t axis);

  auto operator<=>(const Layout&) const = default;

 private:
  std::vector<std::vector<DividedDimension>> dimensions_;
  AxisSet partial_ = AxisSet::none();
};

/// Returns "[data, tensor*3], sums over shard": for each dimension the axes that divide it, with
/// the number of its parts if there are several.
std::string to_string(const Layout& layout, const Mesh& mesh);

/// invalid_argument where a dimension cannot be divided evenly, with the nearest size that can.
Result<void> check_layout(const Layout& layout, const Shape& shape, const Mesh& mesh);

/// Returns the number of blocks that a dimension is divided into.
std::int64_t blocks_of(const Layout& layout, std::size_t dimension, const Mesh& mesh);
/// Returns the shape that a rank has. Requires a layout that check_layout() accepts.
Shape local_shape(const Layout& layout, const Shape& shape, const Mesh& mesh);

/// Indices [begin, end) of a dimension that a rank has, one after the other.
struct IndexRange {
  std::int64_t begin = 0, end = 0;

  bool operator==(const IndexRange&) const = default;
};
/// Returns the indices of a dimension of `size` that a rank has, in the order in which it has them;
/// neighbours are joined.
std::vector<IndexRange> local_indices(const Layout& layout, std::size_t dimension,
                                      std::int64_t size, const Mesh& mesh, std::int64_t rank);

}  // namespace hocket
