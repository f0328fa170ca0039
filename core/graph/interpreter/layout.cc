// Reductions, and operations that put numbers elsewhere.

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/check.h"
#include "core/graph/interpreter/computation.h"
#include "core/graph/interpreter/multi_index.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// A part of a value: the first number's place, and the strides of the others.
struct Part {
  Strides strides;
  std::int64_t begin = 0;
};

/// Copies numbers for each index of `shape`.
void copy_part(const Shape& shape, const std::vector<double>& x, const Part& from,
               std::vector<double>& y, const Part& to) {
  const auto from_begin = static_cast<std::size_t>(from.begin);
  const auto to_begin = static_cast<std::size_t>(to.begin);
  walk(shape, from.strides, to.strides,
       [&](std::size_t in, std::size_t out) { y[to_begin + out] = x[from_begin + in]; });
}

/// Returns the strides with which a reduction's result is walked along its operand.
Strides kept_strides(const Computation& computation) {
  const Shape& shape = computation.shape(0);
  Shape kept = shape;
  for (const std::int64_t each : computation.attributes.integers("dimensions"))
    kept[dimension_at(each, shape.size())] = 1;
  return broadcast_strides(kept, shape);
}

void compute_transpose(Computation& computation) {
  const Strides own = strides_of(computation.shape(0));
  const Shape& shape = computation.results[0].type.shape;
  Strides strides;
  for (const std::int64_t each : computation.attributes.integers("order"))
    strides.push_back(own[dimension_at(each, own.size())]);
  copy_part(shape, computation.x(0), {strides}, computation.y(), {strides_of(shape)});
}

/// The operands lie one after the other in a dimension of the result, from `begin` on.
void compute_placement(Computation& computation, std::int64_t begin) {
  const Strides strides = strides_of(computation.results[0].type.shape);
  const std::size_t dimension =
      dimension_at(computation.attributes.integer("dimension"), strides.size());
  for (std::size_t i = 0; i < computation.operands.size(); ++i) {
    const Shape& shape = computation.shape(i);
    copy_part(shape, computation.x(i), {strides_of(shape)}, computation.y(),
              {strides, begin * strides[dimension]});
    begin += shape[dimension];
  }
}

void compute_slice(Computation& computation) {
  const Strides strides = strides_of(computation.shape(0));
  const Shape& shape = computation.results[0].type.shape;
  const std::size_t dimension =
      dimension_at(computation.attributes.integer("dimension"), strides.size());
  copy_part(shape, computation.x(0),
            {strides, computation.attributes.integer("begin") * strides[dimension]},
            computation.y(), {strides_of(shape)});
}

}  // namespace

void compute_reduction(Computation& computation) {
  const std::vector<double>& x = computation.x(0);
  std::vector<double>& y = computation.y();
  const bool is_sum = computation.kind == Kind::sum;
  if (!is_sum) y.assign(y.size(), -std::numeric_limits<double>::infinity());
  const Shape& shape = computation.shape(0);
  walk(shape, strides_of(shape), kept_strides(computation), [&](std::size_t in, std::size_t out) {
    if (is_sum)
      y[out] += x[in];
    else if (!std::isnan(y[out]) && !(x[in] <= y[out]))
      y[out] = x[in];
  });
}

void compute_maximum_gradient(Computation& computation) {
  const std::vector<double>&x = computation.x(0), &y = computation.x(1), &dy = computation.x(2);
  const Shape& shape = computation.shape(0);
  const Strides all = strides_of(shape), maxima = broadcast_strides(computation.shape(1), shape);
  std::vector<double> equal(y.size());
  walk(shape, all, maxima, [&](std::size_t in, std::size_t out) {
    if (x[in] == y[out]) ++equal[out];
  });
  walk(shape, all, maxima, [&](std::size_t in, std::size_t out) {
    if (x[in] == y[out]) computation.y()[in] = dy[out] / equal[out];
  });
}

void compute_layout(Computation& computation) {
  const Shape& shape = computation.results[0].type.shape;
  switch (computation.kind) {
    case Kind::reshape:
      computation.y() = computation.x(0);
      return;
    case Kind::broadcast:
      copy_part(shape, computation.x(0), {broadcast_strides(computation.shape(0), shape)},
                computation.y(), {strides_of(shape)});
      return;
    case Kind::transpose:
      return compute_transpose(computation);
    case Kind::slice:
      return compute_slice(computation);
    case Kind::pad:
      return compute_placement(computation, computation.attributes.integer("before"));
    case Kind::concatenate:
      return compute_placement(computation, 0);
    default:
      HOCKET_CHECK(false, "an operation that puts numbers elsewhere");
  }
}

}  // namespace hocket
