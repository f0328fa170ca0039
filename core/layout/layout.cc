#include "core/layout/layout.h"

#include <algorithm>

#include "core/base/check.h"

namespace hocket {

std::optional<DividedPlace> Layout::place(std::size_t axis) const {
  for (std::size_t i = 0; i < rank(); ++i) {
    for (const DividedDimension& divided : dimensions_[i])
      if (divided.axis == axis) return DividedPlace{i, divided.parts};
  }
  return std::nullopt;
}

bool Layout::is_whole() const {
  return partial_ == AxisSet::none() &&
         std::ranges::all_of(dimensions_, [](const auto& divided) { return divided.empty(); });
}

void Layout::divide(std::size_t axis, const DividedPlace& place) {
  HOCKET_CHECK(is_whole(axis), "an axis along which the value is whole");
  auto& divided = dimensions_[place.dimension];
  const auto comes_after = [&](const DividedDimension& other) {
    return std::pair(other.parts, other.axis) > std::pair(place.parts, axis);
  };
  divided.insert(std::ranges::find_if(divided, comes_after), {axis, place.parts});
}

void Layout::make_whole(std::size_t axis) {
  for (auto& divided : dimensions_)
    std::erase_if(divided, [&](const DividedDimension& other) { return other.axis == axis; });
  AxisSet partial = AxisSet::none();
  for (std::size_t i = 0; i < kMostAxes; ++i)
    if (i != axis && partial_.has(i)) partial = partial.with(AxisSet::of(i));
  partial_ = partial;
}

std::string to_string(const Layout& layout, const Mesh& mesh) {
  std::string text = "[";
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    if (i > 0) text += ", ";
    const auto& divided = layout.divided(i);
    for (std::size_t k = 0; k < divided.size(); ++k) {
      text += (k > 0 ? "+" : "") + mesh.axes()[divided[k].axis].name;
      if (divided[k].parts > 1) text += "*" + std::to_string(divided[k].parts);
    }
    if (divided.empty()) text += "-";
  }
  text += "]";
  std::string partial;
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (layout.is_partial(axis)) partial += (partial.empty() ? "" : "+") + mesh.axes()[axis].name;
  return partial.empty() ? text : text + ", a summand along " + partial;
}

Result<void> check_layout(const Layout& layout, const Shape& shape, const Mesh& mesh) {
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    std::int64_t parts = 1, blocks = 1;  // of each part
    for (const DividedDimension& divided : layout.divided(i)) {
      const MeshAxis& axis = mesh.axes()[divided.axis];
      if (divided.parts > parts) {
        if (divided.parts % (parts * blocks) != 0) {
          return failure(ErrorCode::invalid_argument,
                         "dimension " + std::to_string(i) + " of " + to_string(shape) + " has " +
                             std::to_string(divided.parts) + " parts to divide over " + axis.name +
                             ", but is divided into " + std::to_string(parts * blocks) +
                             " blocks already, of which none has whole parts");
        }
        parts = divided.parts;
        blocks = 1;
      }
      blocks *= axis.size;
      const std::int64_t step = parts * blocks;
      if (shape[i] % step == 0) continue;
      const std::int64_t below = shape[i] / step * step;
      return failure(ErrorCode::invalid_argument,
                     "dimension " + std::to_string(i) + " of " + to_string(shape) +
                         " cannot be divided into " + std::to_string(step) + " equal blocks over " +
                         axis.name + "; the nearest " +
                         (below > 0 ? "sizes that can are " + std::to_string(below) + " and "
                                    : "that can is ") +
                         std::to_string(below + step));
    }
  }
  return {};
}

std::int64_t blocks_of(const Layout& layout, std::size_t dimension, const Mesh& mesh) {
  std::int64_t blocks = 1;
  for (const DividedDimension& divided : layout.divided(dimension))
    blocks *= mesh.axes()[divided.axis].size;
  return blocks;
}

Shape local_shape(const Layout& layout, const Shape& shape, const Mesh& mesh) {
  Shape local = shape;
  for (std::size_t i = 0; i < local.size(); ++i) local[i] /= blocks_of(layout, i, mesh);
  return local;
}

std::vector<IndexRange> local_indices(const Layout& layout, std::size_t dimension,
                                      std::int64_t size, const Mesh& mesh, std::int64_t rank) {
  std::vector<IndexRange> ranges{{0, size}};
  std::int64_t parts = 1, blocks = 1;  // of each part
  for (const DividedDimension& divided : layout.divided(dimension)) {
    const std::int64_t count = mesh.axes()[divided.axis].size;
    const std::int64_t mine = mesh.index_in(AxisSet::of(divided.axis), rank);
    if (divided.parts > parts) {
      parts = divided.parts;
      blocks = 1;
    }
    // The divisions before have left so much of each part, of which this rank has a block.
    const std::int64_t part = size / (parts * blocks), block = part / count;
    std::vector<IndexRange> kept;
    std::int64_t at = 0;  // in the indices that are there
    for (const IndexRange& range : ranges) {
      for (std::int64_t begin = range.begin; begin < range.end;) {
        // To the end of the range or of the part, whichever comes first.
        const std::int64_t in_part = at % part;
        const std::int64_t length = std::min(range.end - begin, part - in_part);
        const std::int64_t from = std::max(in_part, mine * block);
        const std::int64_t to = std::min(in_part + length, (mine + 1) * block);
        if (from < to) kept.push_back({begin + from - in_part, begin + to - in_part});
        begin += length;
        at += length;
      }
    }
    ranges = std::move(kept);
    blocks *= count;
  }
  std::vector<IndexRange> joined;
  for (const IndexRange& range : ranges) {
    if (!joined.empty() && joined.back().end == range.begin)
      joined.back().end = range.end;
    else
      joined.push_back(range);
  }
  return joined;
}

}  // namespace hocket
