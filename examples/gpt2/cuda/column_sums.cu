#include "examples/gpt2/cuda/column_sums.h"

#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {

std::size_t column_sums_scratch_floats(int rows, int columns) {
  return static_cast<std::size_t>(cut_rows(rows).count) * columns;
}

Result<void> column_sums(int rows, int columns, ElementType type, const void* x, float* scratch,
                         float* sums, bool add, DeviceStream stream) {
  return dispatch(type, columns, {x}, [&]<class T, int N>() {
    const MatrixColumns<T> source{static_cast<const T*>(x), static_cast<std::size_t>(columns)};
    return sum_columns<N>("column_sums", source, rows, columns, scratch,
                          {.first = sums, .add = add}, stream);
  });
}

}  // namespace hocket::kernels
