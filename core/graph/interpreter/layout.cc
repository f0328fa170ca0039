// Reductions, and operations that put numbers elsewhere.

#include <cstdint>

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
template <class T>
void copy_part(const Shape& shape, const std::vector<T>& x, const Part& from, std::vector<T>& y,
               const Part& to) {
  const auto from_begin = static_cast<std::size_t>(from.begin);
  const auto to_begin = static_cast<std::size_t>(to.begin);
  walk(shape, from.strides, to.strides,
       [&](std::size_t in, std::size_t out) { y[to_begin + out] = x[from_begin + in]; });
}

/// Returns the strides with which a reduction's result is walked along its operand.
template <class T>
Strides kept_strides(const Computation<T>& computation) {
  const Shape& shape = computation.shape(0);
  Shape kept = shape;
  for (const std::int64_t each : computation.attributes.integers("dimensions"))
    kept[dimension_at(each, shape.size())] = 1;
  return broadcast_strides(kept, shape);
}

template <class T>
void compute_transpose(Computation<T>& computation) {
  const Strides own = strides_of(computation.shape(0));
  const Shape& shape = computation.results[0].type.shape;
  Strides strides;
  for (const std::int64_t each : computation.attributes.integers("order"))
    strides.push_back(own[dimension_at(each, own.size())]);
  copy_part(shape, computation.x(0), {strides}, computation.y(), {strides_of(shape)});
}

/// The operands lie one after the other in a dimension of the result, from `begin` on.
template <class T>
void compute_placement(Computation<T>& computation, std::int64_t begin) {
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

template <class T>
void compute_slice(Computation<T>& computation) {
  const Strides strides = strides_of(computation.shape(0));
  const Shape& shape = computation.results[0].type.shape;
  const std::size_t dimension =
      dimension_at(computation.attributes.integer("dimension"), strides.size());
  copy_part(shape, computation.x(0),
            {strides, computation.attributes.integer("begin") * strides[dimension]},
            computation.y(), {strides_of(shape)});
}

}  // namespace

template <class T>
void compute_reduction(Computation<T>& computation) {
  const std::vector<T>& x = computation.x(0);
  std::vector<T>& y = computation.y();
  const bool is_sum = computation.kind == Kind::sum;
  if (!is_sum) y.assign(y.size(), least_number<T>());
  const Shape& shape = computation.shape(0);
  walk(shape, strides_of(shape), kept_strides(computation), [&](std::size_t in, std::size_t out) {
    if (is_sum)
      y[out] += x[in];
    else if (is_number(y[out]) && !(x[in] <= y[out]))
      y[out] = x[in];
  });
}

template <class T>
void compute_maximum_gradient(Computation<T>& computation) {
  const std::vector<T>&x = computation.x(0), &y = computation.x(1), &dy = computation.x(2);
  const Shape& shape = computation.shape(0);
  const Strides all = strides_of(shape), maxima = broadcast_strides(computation.shape(1), shape);
  std::vector<T> equal(y.size());
  walk(shape, all, maxima, [&](std::size_t in, std::size_t out) {
    if (x[in] == y[out]) equal[out] += 1;
  });
  walk(shape, all, maxima, [&](std::size_t in, std::size_t out) {
    if (x[in] == y[out]) computation.y()[in] = dy[out] / equal[out];
  });
}

template <class T>
void compute_layout(Computation<T>& computation) {
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

HOCKET_FOR_ALL_NUMBERS(void, compute_reduction);
HOCKET_FOR_ALL_NUMBERS(void, compute_maximum_gradient);
HOCKET_FOR_ALL_NUMBERS(void, compute_layout);

}  // namespace hocket
