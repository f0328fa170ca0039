#pragma once

// Sums over the rows of a matrix in two stages: the rows are cut into chunks, and the sums of the
// chunks become the rows of a smaller matrix, which is summed in the same way. The chunks depend
// only on the number of rows, so the result is the same on every device. Threading as in
// kernels/kernel.h.

#include <climits>
#include <cstddef>

#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {

constexpr int kColumnWarps = 8;

/// The division of rows into chunks.
struct RowChunks {
  int count = 0, rows = 0;  ///< number of chunks, and rows of each but the last
};

constexpr RowChunks cut_rows(int rows) {
  constexpr int kFewestRows = 64, kMostChunks = 128;
  int count = (rows + kFewestRows - 1) / kFewestRows;
  if (count > kMostChunks) count = kMostChunks;
  if (count < 1) count = 1;
  const int each = (rows + count - 1) / count;
  return {count, each};
}

/// Destination of a chunk's sums: the first `split` of them go to `first`, the others to `second`.
template <class To = float>
struct SumsOfChunks {
  To* first = nullptr;
  To* second = nullptr;
  int split = INT_MAX;
  std::size_t stride = 0;  ///< elements from one chunk to the next, in `first`
  bool add = false;        ///< adds to existing values

  __device__ void put(int chunk, int column, float sum) const {
    To& to = column < split ? first[chunk * stride + column] : second[column - split];
    assign(add ? to_float(to) + sum : sum, to);
  }
};

/// A matrix whose columns are summed. A source adds, for N columns from `column` on, a row's values
/// to its Terms sums per column.
template <class T>
struct MatrixColumns {
  static constexpr int kTerms = 1;
  const T* x = nullptr;
  std::size_t columns = 0;

  template <int N>
  __device__ void add(int row, int column, float (&sums)[1][N]) const {
    float values[N];
    load(x + row * columns + column, values);
    for (int j = 0; j < N; ++j) sums[0][j] += values[j];
  }
};

/// Sums one chunk per block x and 32·N columns per block y, N per lane. The warps take rows in
/// turn, and their sums are added in the order of the warps. A chunk's sums are those of the first
/// term for all columns, followed by those of the next term.
template <int N, class Source, class To>
__global__ void column_sums_kernel(Source source, int rows, int columns, int rows_of_chunk,
                                   SumsOfChunks<To> sums_of_chunks) {
  constexpr int kTerms = Source::kTerms, kAcross = kWarp * N;
  __shared__ float shared[kColumnWarps][kTerms][kAcross];
  const int chunk = static_cast<int>(blockIdx.x);
  const int begin = chunk * rows_of_chunk;
  const int end = begin + rows_of_chunk < rows ? begin + rows_of_chunk : rows;
  const int column = static_cast<int>(blockIdx.y) * kAcross + lane() * N;
  float sums[kTerms][N] = {};
  if (column < columns) {
    for (int row = begin + warp(); row < end; row += kColumnWarps) source.add(row, column, sums);
  }
  for (int k = 0; k < kTerms; ++k) {
    for (int j = 0; j < N; ++j) shared[warp()][k][lane() * N + j] = sums[k][j];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kTerms * kAcross; i += kColumnWarps * kWarp) {
    const int term = i / kAcross, at = i % kAcross;
    const int to = static_cast<int>(blockIdx.y) * kAcross + at;
    if (to >= columns) continue;
    float sum = 0;
    for (int w = 0; w < kColumnWarps; ++w) sum += shared[w][term][at];
    sums_of_chunks.put(chunk, term * columns + to, sum);
  }
}

template <int N>
LaunchGrid column_sums_grid(int chunks, int columns) {
  return {.x = static_cast<unsigned>(chunks),
          .y = blocks_for(columns, kWarp * N),
          .threads = kColumnWarps * kWarp};
}

/// Sums `source`. `scratch` holds the sums of the chunks and must have room for Terms·columns
/// floats per chunk.
template <int N, class Source, class To>
Result<void> sum_columns(const char* name, const Source& source, int rows, int columns,
                         float* scratch, const SumsOfChunks<To>& result, DeviceStream stream) {
  const RowChunks chunks = cut_rows(rows);
  const int all_columns = Source::kTerms * columns;
  const LaunchGrid grid = column_sums_grid<N>(chunks.count, columns);
  if (chunks.count == 1) {
    return launch(name, column_sums_kernel<N, Source, To>, grid, stream, source, rows, columns,
                  chunks.rows, result);
  }
  const SumsOfChunks<float> partial{.first = scratch,
                                    .stride = static_cast<std::size_t>(all_columns)};
  HOCKET_TRY(launch(name, column_sums_kernel<N, Source, float>, grid, stream, source, rows, columns,
                    chunks.rows, partial));
  const MatrixColumns<float> partials{scratch, static_cast<std::size_t>(all_columns)};
  return launch(name, column_sums_kernel<1, MatrixColumns<float>, To>,
                column_sums_grid<1>(1, all_columns), stream, partials, chunks.count, all_columns,
                chunks.count, result);
}

}  // namespace hocket::kernels
