// Operations that put numbers of 32 bits elsewhere, as they are.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "kernels/host/host_kernel.h"
#include "kernels/repeated.h"

namespace hocket {
namespace {

using Bits = std::uint32_t;

void copy_numbers(Bits* to, const Bits* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Bits));
}

/// Rows and columns of a block that is transposed at once, so that each cache line that it touches
/// is used whole.
constexpr std::int64_t kTransposed = 16;

/// A part of a transpose: y[i · stride of i + j] = x[i + j · stride of j].
void transpose_matrix(const Bits* x, Bits* y, std::int64_t rows, std::int64_t columns,
                      std::int64_t row_stride, std::int64_t column_stride) {
  for (std::int64_t top = 0; top < rows; top += kTransposed) {
    const std::int64_t bottom = std::min(top + kTransposed, rows);
    for (std::int64_t left = 0; left < columns; left += kTransposed) {
      const std::int64_t right = std::min(left + kTransposed, columns);
      for (std::int64_t i = top; i < bottom; ++i)
        for (std::int64_t j = left; j < right; ++j)
          y[i * row_stride + j] = x[i + j * column_stride];
    }
  }
}

/// Copies a value whose numbers are x[offset + strides] in the order of the result. Its units are
/// the numbers of the result.
MadeKernel rows_kernel(const Repeated<1>& all, std::int64_t offset = 0,
                       std::vector<InPlace> in_place = {}) {
  const std::int64_t stride = all.inner(0);
  KernelPlan plan{.units = all.count(), .in_place = std::move(in_place)};
  return host_kernel(std::move(plan), [=](const KernelCall& call, UnitRange range) {
    const Bits* const x = operand_of<Bits>(call, 0) + offset;
    Bits* const y = result_of<Bits>(call);
    each_row(
        all, range.begin, range.end,
        [=](std::int64_t begin, const std::array<std::int64_t, 1>& places, std::int64_t count) {
          const Bits* const from = x + places[0];
          Bits* const to = y + begin;
          if (stride == 0) {
            std::fill_n(to, count, *from);
          } else if (stride != 1) {
            for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
          } else if (from != to) {
            copy_numbers(to, from, count);
          }
        });
  });
}

/// The innermost dimension of the result is not the innermost one of x, which is dimension `inner`
/// of the result: matrices of these two are transposed. The units are the indices of the outermost
/// dimension of the result.
MadeKernel matrices_kernel(const Repeated<1>& all, std::size_t inner) {
  return host_kernel({.units = all.sizes[0]}, [=](const KernelCall& call, UnitRange range) {
    const std::size_t last = all.rank - 1;
    std::int64_t result_strides[kMostDimensions];
    std::int64_t stride = 1;
    for (std::size_t i = all.rank; i-- > 0; stride *= all.sizes[i]) result_strides[i] = stride;
    std::int64_t sizes[kMostDimensions], begins[kMostDimensions] = {};
    std::copy_n(all.sizes.begin(), all.rank, sizes);
    begins[0] = range.begin;
    sizes[0] = range.end - range.begin;
    std::int64_t matrices = 1;
    for (std::size_t i = 0; i < last; ++i)
      if (i != inner) matrices *= sizes[i];
    const Bits* const x = operand_of<Bits>(call, 0);
    Bits* const y = result_of<Bits>(call);
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
      std::int64_t rest = matrix;
      std::int64_t from = begins[inner];
      std::int64_t to = begins[inner] * result_strides[inner];
      for (std::size_t i = last; i-- > 0;) {
        if (i == inner) continue;
        const std::int64_t index = begins[i] + rest % sizes[i];
        rest /= sizes[i];
        from += index * all.strides[i][0];
        to += index * result_strides[i];
      }
      transpose_matrix(x + from, y + to, sizes[inner], all.width(), result_strides[inner],
                       all.inner(0));
    }
  });
}

/// Blocks of consecutive numbers: as many as the dimensions around one have indices.
struct Blocks {
  Blocks(const Shape& shape, std::int64_t attribute) {
    const std::size_t dimension = dimension_at(attribute, shape.size());
    for (std::size_t i = 0; i < dimension; ++i) count *= shape[i];
    for (std::size_t i = dimension + 1; i < shape.size(); ++i) inner *= shape[i];
    numbers = shape[dimension] * inner;
  }

  std::int64_t count = 1;    ///< blocks, one after the other
  std::int64_t inner = 1;    ///< numbers for an index of the dimension
  std::int64_t numbers = 1;  ///< in a block
};

}  // namespace

MadeKernel make_constant(const KernelSignature& signature) {
  const double value = signature.attributes.number("value");
  const ValueType& type = signature.results[0];
  Bits bits = 0;
  if (type.numbers == NumberType::int32) {
    const auto whole = static_cast<std::int32_t>(value);
    std::memcpy(&bits, &whole, sizeof bits);
  } else {
    const auto number = static_cast<float>(value);
    std::memcpy(&bits, &number, sizeof bits);
  }
  return host_kernel({.units = type.count()}, [bits](const KernelCall& call, UnitRange range) {
    std::fill(result_of<Bits>(call) + range.begin, result_of<Bits>(call) + range.end, bits);
  });
}

MadeKernel make_reshape(const KernelSignature& signature) {
  const Shape numbers{signature.results[0].count()};
  return rows_kernel({numbers, {dense_strides(numbers)}}, 0, {{0, 0}});
}

MadeKernel make_broadcast(const KernelSignature& signature) {
  const Shape& shape = signature.results[0].shape;
  return rows_kernel({shape, {repeated_strides(signature.operands[0].shape, shape)}});
}

MadeKernel make_slice(const KernelSignature& signature) {
  const DimensionStrides strides = dense_strides(signature.operands[0].shape);
  const std::size_t dimension =
      dimension_at(signature.attributes.integer("dimension"), strides.size());
  return rows_kernel({signature.results[0].shape, {strides}},
                     signature.attributes.integer("begin") * strides[dimension]);
}

MadeKernel make_transpose(const KernelSignature& signature) {
  const DimensionStrides own = dense_strides(signature.operands[0].shape);
  DimensionStrides strides;
  for (const std::int64_t each : signature.attributes.integers("order"))
    strides.push_back(own[dimension_at(each, own.size())]);
  const Repeated<1> all(signature.results[0].shape, {strides});
  if (all.inner(0) == 1) return rows_kernel(all);
  std::size_t inner = 0;
  while (all.strides[inner][0] != 1) ++inner;
  return matrices_kernel(all, inner);
}

MadeKernel make_pad(const KernelSignature& signature) {
  const std::int64_t dimension = signature.attributes.integer("dimension");
  const Blocks x(signature.operands[0].shape, dimension);
  const Blocks y(signature.results[0].shape, dimension);
  const std::int64_t before = signature.attributes.integer("before") * y.inner;
  return host_kernel({.units = y.count}, [=](const KernelCall& call, UnitRange range) {
    const Bits* from = operand_of<Bits>(call, 0) + range.begin * x.numbers;
    Bits* to = result_of<Bits>(call) + range.begin * y.numbers;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      std::fill_n(to, before, 0);
      copy_numbers(to + before, from, x.numbers);
      std::fill(to + before + x.numbers, to + y.numbers, 0);
      from += x.numbers;
      to += y.numbers;
    }
  });
}

MadeKernel make_concatenate(const KernelSignature& signature) {
  const std::int64_t dimension = signature.attributes.integer("dimension");
  const Blocks y(signature.results[0].shape, dimension);
  std::vector<std::int64_t> numbers;
  for (const ValueType& operand : signature.operands)
    numbers.push_back(Blocks(operand.shape, dimension).numbers);
  return host_kernel({.units = y.count}, [=](const KernelCall& call, UnitRange range) {
    std::int64_t begin = 0;
    for (std::size_t operand = 0; operand < numbers.size(); ++operand) {
      const std::int64_t count = numbers[operand];
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        copy_numbers(result_of<Bits>(call) + i * y.numbers + begin,
                     operand_of<Bits>(call, operand) + i * count, count);
      }
      begin += count;
    }
  });
}

}  // namespace hocket
