// Rows of tables: one warp per row of the result. For the gradient, one block sums all rows of an
// index, so that no two blocks add to the same place.

#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

/// Rows whose index is out of range are no numbers.
template <class T, int N>
__global__ void embedding_kernel(std::size_t rows, int width, std::int64_t table_rows,
                                 const std::int32_t* indices, const T* table, T* y) {
  const std::size_t row = row_of_warp();
  if (row >= rows) return;
  const std::int64_t index = indices[row];
  const bool is_there = index >= 0 && index < table_rows;
  const T* const from = table + (is_there ? index : 0) * width;
  for_row<N>(width, [=](int i) {
    float values[N];
    load(from + i, values);
    if (!is_there) {
      for (float& each : values) each = NAN;
    }
    store(values, y + row * width + i);
  });
}

template <class T, int N>
__global__ void zero_kernel(std::size_t count, T* y) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    const float values[M] = {};
    store(values, y + i);
  });
}

constexpr int kIndexWarps = 8;

/// Adds the rows of an index in a warp's share, `begin` to `end`, to `sums`. The lanes compare 32
/// indices at a time, then read each matching row together.
template <class T, int N>
__device__ void sum_rows_of_index(std::int64_t begin, std::int64_t end, std::int32_t index,
                                  const std::int32_t* indices, int width, int column, const T* dy,
                                  float (&sums)[N]) {
  for (std::int64_t base = begin; base < end; base += kWarp) {
    const std::int64_t mine = base + lane();
    unsigned found = __ballot_sync(kAllLanes, mine < end && indices[mine] == index);
    for (; found != 0; found &= found - 1) {
      const std::int64_t row = base + __ffs(static_cast<int>(found)) - 1;
      if (column >= width) continue;
      float values[N];
      load(dy + row * width + column, values);
      for (int j = 0; j < N; ++j) sums[j] += values[j];
    }
  }
}

/// Block x handles the index of row x if it is in range and no earlier row has the same; otherwise
/// it does nothing. Block y takes 32·N columns. The warps share the rows from x on, and their sums
/// are added in the order of the warps.
template <class T, int N>
__global__ void embedding_gradient_kernel(std::int64_t rows, int width, std::int64_t table_rows,
                                          const std::int32_t* indices, const T* dy, T* dtable) {
  __shared__ float shared[kIndexWarps][kWarp * N];
  const std::int64_t first = blockIdx.x;
  const std::int32_t index = indices[first];
  if (index < 0 || index >= table_rows) return;
  bool seen = false;
  const int threads = kIndexWarps * kWarp;
  for (std::int64_t row = threadIdx.x; row < first && !seen; row += 4 * threads) {
    for (int ahead = 0; ahead < 4; ++ahead) {  // four loads in flight at a time
      const std::int64_t before = row + ahead * threads;
      seen |= before < first && indices[before] == index;
    }
  }
  if (__syncthreads_or(seen)) return;

  const int column = (static_cast<int>(blockIdx.y) * kWarp + lane()) * N;
  const std::int64_t share = (rows - first + kIndexWarps - 1) / kIndexWarps;
  const std::int64_t begin = first + warp() * share;
  const std::int64_t end = begin + share < rows ? begin + share : rows;
  float sums[N] = {};
  sum_rows_of_index<T, N>(begin, end, index, indices, width, column, dy, sums);
  for (int j = 0; j < N; ++j) shared[warp()][lane() * N + j] = sums[j];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kWarp * N; i += threads) {
    const int to = static_cast<int>(blockIdx.y) * kWarp * N + i;
    if (to >= width) continue;
    float sum = 0;
    for (int w = 0; w < kIndexWarps; ++w) sum += shared[w][i];
    assign(sum, dtable[static_cast<std::int64_t>(index) * width + to]);
  }
}

/// A number of a row, in the order of top_k: what is no number first, then the largest, of equal
/// ones the first.
struct Ranked {
  float value;
  int index;

  __device__ bool is_before(const Ranked& other) const {
    const bool is_none = value != value, other_is_none = other.value != other.value;
    if (is_none != other_is_none) return is_none;
    if (is_none || value == other.value) return index < other.index;
    return value > other.value;
  }
};

/// One warp per row, which looks for the next number `count` times.
template <class T>
__global__ void top_k_kernel(std::size_t rows, int width, int count, const T* x, T* values,
                             std::int32_t* indices) {
  const std::size_t row = row_of_warp();
  if (row >= rows) return;
  const T* const in = x + row * width;
  Ranked last = {static_cast<float>(NAN), -1};
  for (int k = 0; k < count; ++k) {
    // The last of all, which each number of the row is before.
    Ranked next = {-INFINITY, width};
    for (int i = lane(); i < width; i += kWarp) {
      const Ranked mine = {to_float(in[i]), i};
      if (last.is_before(mine) && mine.is_before(next)) next = mine;
    }
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      const Ranked other = {__shfl_xor_sync(kAllLanes, next.value, distance),
                            __shfl_xor_sync(kAllLanes, next.index, distance)};
      if (other.is_before(next)) next = other;
    }
    last = next;
    if (lane() != 0) continue;
    values[row * count + k] = in[next.index];
    indices[row * count + k] = next.index;
  }
}

template <class T>
__global__ void top_k_gradient_kernel(std::size_t numbers, int size, int count,
                                      const std::int32_t* indices, const T* dvalues, T* dx) {
  for_elements<1>(numbers, [=]<int M>(std::size_t number) {
    const std::size_t row = number / size;
    const auto index = static_cast<std::int32_t>(number % size);
    float sum = 0;
    for (int k = 0; k < count; ++k)
      if (indices[row * count + k] == index) sum += to_float(dvalues[row * count + k]);
    assign(sum, dx[number]);
  });
}

}  // namespace

MadeKernel make_embedding(const KernelSignature& signature) {
  const ValueRows table(signature.operands[0]);
  const std::int64_t rows = signature.operands[1].count();
  HOCKET_TRY(check_sizes({rows, table.width}));
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({}, [=](const KernelCall& call, const DeviceTask& task) {
    const auto buffers = {call.operands[0], static_cast<const void*>(call.results[0])};
    return dispatch(type, static_cast<std::size_t>(table.width), buffers, [&]<class T, int N>() {
      const auto count = static_cast<std::size_t>(rows);
      return launch("embedding", embedding_kernel<T, N>, rows_grid(count), task.stream, count,
                    static_cast<int>(table.width), table.count, operand_of<std::int32_t>(call, 1),
                    operand_of<T>(call, 0), result_of<T>(call));
    });
  });
}

MadeKernel make_embedding_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[1]);
  const std::int64_t table_rows = signature.attributes.integer("rows");
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  const auto numbers = static_cast<std::size_t>(signature.results[0].count());
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({}, [=](const KernelCall& call, const DeviceTask& task) {
    const auto buffers = {call.operands[1], static_cast<const void*>(call.results[0])};
    const auto width = static_cast<std::size_t>(rows.width);
    return dispatch(type, width, buffers, [&]<class T, int N>() -> Result<void> {
      HOCKET_TRY(launch("zeros of embedding_gradient", zero_kernel<T, N>, elements_grid(numbers, N),
                        task.stream, numbers, result_of<T>(call)));
      const LaunchGrid grid{static_cast<unsigned>(rows.count), blocks_for(width, kWarp * N),
                            kIndexWarps * kWarp};
      return launch("embedding_gradient", embedding_gradient_kernel<T, N>, grid, task.stream,
                    rows.count, static_cast<int>(rows.width), table_rows,
                    operand_of<std::int32_t>(call, 0), operand_of<T>(call, 1), result_of<T>(call));
    });
  });
}

MadeKernel make_top_k(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  const std::int64_t count = signature.attributes.integer("count");
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({}, [=](const KernelCall& call, const DeviceTask& task) {
    return dispatch_packs(type, false, [&]<class T, int N>() {
      const auto numbers = static_cast<std::size_t>(rows.count);
      return launch("top_k", top_k_kernel<T>, rows_grid(numbers), task.stream, numbers,
                    static_cast<int>(rows.width), static_cast<int>(count), operand_of<T>(call, 0),
                    result_of<T>(call, 0), result_of<std::int32_t>(call, 1));
    });
  });
}

MadeKernel make_top_k_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[1]);
  const std::int64_t size = signature.attributes.integer("size");
  HOCKET_TRY(check_sizes({rows.width, size}));
  const auto numbers = static_cast<std::size_t>(signature.results[0].count());
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({}, [=](const KernelCall& call, const DeviceTask& task) {
    return dispatch_packs(type, false, [&]<class T, int N>() {
      return launch("top_k_gradient", top_k_gradient_kernel<T>, elements_grid(numbers, 1),
                    task.stream, numbers, static_cast<int>(size), static_cast<int>(rows.width),
                    operand_of<std::int32_t>(call, 0), operand_of<T>(call, 1), result_of<T>(call));
    });
  });
}

}  // namespace hocket::kernels
