// The embedding: one warp per row in the forward pass. In the backward pass, one block sums all
// rows of a token, so that no two blocks add to the same place.

#include "examples/gpt2/cuda/device_values.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

template <class T, int N>
__global__ void embedding_forward_kernel(EmbeddingShape shape, const std::int32_t* tokens,
                                         const T* token_table, const T* position_table, T* y) {
  const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.sequence;
  const std::size_t row = row_of_warp(), width = shape.width;
  if (row >= rows) return;
  const T* token = token_table + tokens[row] * width;
  const T* position = position_table + row % shape.sequence * width;
  for_row<N>(shape.width, [=](int i) {
    float values[N], added[N];
    load(token + i, values);
    load(position + i, added);
    for (int j = 0; j < N; ++j) values[j] += added[j];
    store(values, y + row * width + i);
  });
}

constexpr int kTokenWarps = 8;

/// Adds the rows of `token` in a warp's share, `begin` to `end`, to `sums`. The lanes compare 32
/// tokens at a time, then read each matching row together.
template <class T, int N>
__device__ void sum_rows_of_token(int begin, int end, std::int32_t token,
                                  const std::int32_t* tokens, int width, int column, const T* dy,
                                  float (&sums)[N]) {
  for (int base = begin; base < end; base += kWarp) {
    const int mine = base + lane();
    unsigned found = __ballot_sync(kAllLanes, mine < end && tokens[mine] == token);
    for (; found != 0; found &= found - 1) {
      const int row = base + __ffs(static_cast<int>(found)) - 1;
      if (column >= width) continue;
      float values[N];
      load(dy + static_cast<std::size_t>(row) * width + column, values);
      for (int j = 0; j < N; ++j) sums[j] += values[j];
    }
  }
}

/// Block x handles the token of row x if no earlier row has the same token; otherwise it does
/// nothing. Block y takes 32·N columns. The warps share the rows from x on, and their sums are
/// added in the order of the warps.
template <class T, int N>
__global__ void embedding_backward_token_kernel(int rows, int width, const std::int32_t* tokens,
                                                const T* dy, float* dtoken_table) {
  __shared__ float shared[kTokenWarps][kWarp * N];
  const int first = static_cast<int>(blockIdx.x);
  const std::int32_t token = tokens[first];
  bool seen = false;
  const int threads = kTokenWarps * kWarp;
  for (int row = static_cast<int>(threadIdx.x); row < first && !seen; row += 4 * threads) {
    for (int ahead = 0; ahead < 4; ++ahead) {  // four loads in flight at a time
      const int before = row + ahead * threads;
      seen |= before < first && tokens[before] == token;
    }
  }
  if (__syncthreads_or(seen)) return;

  const int column = (static_cast<int>(blockIdx.y) * kWarp + lane()) * N;
  const int share = (rows - first + kTokenWarps - 1) / kTokenWarps;
  const int begin = first + warp() * share;
  const int end = begin + share < rows ? begin + share : rows;
  float sums[N] = {};
  sum_rows_of_token<T, N>(begin, end, token, tokens, width, column, dy, sums);
  for (int j = 0; j < N; ++j) shared[warp()][lane() * N + j] = sums[j];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kWarp * N; i += threads) {
    const int to = static_cast<int>(blockIdx.y) * kWarp * N + i;
    if (to >= width) continue;
    float sum = 0;
    for (int w = 0; w < kTokenWarps; ++w) sum += shared[w][i];
    dtoken_table[static_cast<std::size_t>(token) * width + to] += sum;
  }
}

/// One warp per position.
template <class T, int N>
__global__ void embedding_backward_position_kernel(EmbeddingShape shape, const T* dy,
                                                   float* dposition_table, bool add) {
  const std::size_t position = row_of_warp(), width = shape.width, sequence = shape.sequence;
  if (position >= sequence) return;
  for_row<N>(shape.width, [=](int i) {
    float* const to = dposition_table + position * width + i;
    float sums[N] = {};
    if (add) load(to, sums);
    for (int b = 0; b < shape.batch; ++b) {
      float values[N];
      load(dy + (b * sequence + position) * width + i, values);
      for (int j = 0; j < N; ++j) sums[j] += values[j];
    }
    store(sums, to);
  });
}

}  // namespace

Result<void> embedding_forward(const EmbeddingShape& shape, ElementType type,
                               const std::int32_t* tokens, const void* token_table,
                               const void* position_table, void* y, DeviceStream stream) {
  const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.sequence;
  return dispatch(type, shape.width, {token_table, position_table, y}, [&]<class T, int N>() {
    return launch("embedding_forward", embedding_forward_kernel<T, N>, rows_grid(rows), stream,
                  shape, tokens, static_cast<const T*>(token_table),
                  static_cast<const T*>(position_table), static_cast<T*>(y));
  });
}

Result<void> embedding_backward(const EmbeddingShape& shape, ElementType type,
                                const std::int32_t* tokens, const void* dy, float* dtoken_table,
                                float* dposition_table, bool add, DeviceStream stream) {
  return dispatch(type, shape.width, {dy, dposition_table}, [&]<class T, int N>() -> Result<void> {
    const int rows = shape.batch * shape.sequence;
    const LaunchGrid grid{.x = static_cast<unsigned>(rows),
                          .y = blocks_for(shape.width, kWarp * N),
                          .threads = kTokenWarps * kWarp};
    const auto launched =
        launch("embedding_backward of tokens", embedding_backward_token_kernel<T, N>, grid, stream,
               rows, shape.width, tokens, static_cast<const T*>(dy), dtoken_table);
    if (!launched) return launched;
    return launch("embedding_backward of positions", embedding_backward_position_kernel<T, N>,
                  rows_grid(shape.sequence), stream, shape, static_cast<const T*>(dy),
                  dposition_table, add);
  });
}

}  // namespace hocket::kernels
