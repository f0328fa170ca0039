// Tables and choices. The units are rows: of the result, for the gradient of an embedding those of
// the table.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/host/host_kernel.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

void copy_row(float* to, const float* from, std::int64_t width) {
  std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(float));
}

/// Adds each row of dy to that row of the table which its index names, if it is in the range.
struct AddRowsLoop {
  [[gnu::always_inline]] static inline void run(const std::int32_t* indices, std::int64_t count,
                                                UnitRange range, const float* dy,
                                                std::int64_t width, float* dtable) {
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t index = indices[row];
      if (index < range.begin || index >= range.end) continue;
      const float* const from = dy + row * width;
      float* const to = dtable + index * width;
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) to[i] += from[i];
    }
  }
};

}  // namespace

MadeKernel make_embedding(const KernelSignature& signature) {
  const ValueRows table(signature.operands[0]);
  return host_kernel({.units = signature.operands[1].count()},
                     [table](const KernelCall& call, UnitRange range) -> Result<void> {
                       for (std::int64_t row = range.begin; row < range.end; ++row) {
                         const std::int64_t index = operand_of<std::int32_t>(call, 1)[row];
                         if (index < 0 || index >= table.count)
                           return wrong_index("indices", index, table.count, row);
                         copy_row(result_of(call) + row * table.width,
                                  operand_of(call, 0) + index * table.width, table.width);
                       }
                       return {};
                     });
}

MadeKernel make_embedding_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[1]);
  const std::int64_t size = signature.attributes.integer("rows");
  return host_kernel({.units = size}, [=](const KernelCall& call, UnitRange range) -> Result<void> {
    const auto* const indices = operand_of<std::int32_t>(call, 0);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      if (indices[i] < 0 || indices[i] >= size) return wrong_index("indices", indices[i], size, i);
    }
    float* const dtable = result_of(call);
    std::fill(dtable + range.begin * rows.width, dtable + range.end * rows.width, 0.0f);
    run_loop<AddRowsLoop>(indices, rows.count, range, operand_of(call, 1), rows.width, dtable);
    return {};
  });
}

MadeKernel make_top_k(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  const std::int64_t count = signature.attributes.integer("count");
  const std::int64_t bytes = rows.width * std::int64_t{sizeof(std::int32_t)};
  return host_kernel({.units = rows.count, .scratch_bytes = bytes},
                     [=](const KernelCall& call, UnitRange range) {
                       auto* const order = static_cast<std::int32_t*>(call.scratch);
                       for (std::int64_t row = range.begin; row < range.end; ++row) {
                         const float* const x = operand_of(call, 0) + row * rows.width;
                         std::iota(order, order + rows.width, 0);
                         std::partial_sort(order, order + count, order + rows.width,
                                           [x](std::int32_t one, std::int32_t other) {
                                             const bool is_none = std::isnan(x[one]);
                                             if (is_none != std::isnan(x[other])) return is_none;
                                             if (is_none || x[one] == x[other]) return one < other;
                                             return x[one] > x[other];
                                           });
                         float* const values = result_of(call, 0) + row * count;
                         for (std::int64_t i = 0; i < count; ++i) values[i] = x[order[i]];
                         std::copy_n(order, count, result_of<std::int32_t>(call, 1) + row * count);
                       }
                     });
}

MadeKernel make_top_k_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  const std::int64_t size = signature.attributes.integer("size");
  return host_kernel({.units = rows.count},
                     [=](const KernelCall& call, UnitRange range) -> Result<void> {
                       for (std::int64_t row = range.begin; row < range.end; ++row) {
                         float* const dx = result_of(call) + row * size;
                         std::fill_n(dx, size, 0.0f);
                         for (std::int64_t i = row * rows.width; i < (row + 1) * rows.width; ++i) {
                           const std::int64_t index = operand_of<std::int32_t>(call, 0)[i];
                           if (index < 0 || index >= size)
                             return wrong_index("indices", index, size, i);
                           dx[index] += operand_of(call, 1)[i];
                         }
                       }
                       return {};
                     });
}

}  // namespace hocket
