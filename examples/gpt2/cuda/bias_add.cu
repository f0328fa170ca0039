// The bias of a linear layer as a kernel of its own, for products without such an epilogue.

#include "examples/gpt2/cuda/device_values.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

/// A pack of N elements lies in one row: N is 1 or divides `columns`.
template <class T, int N>
__global__ void bias_add_kernel(std::size_t count, std::size_t columns, const T* bias, T* y) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float added[M], values[M];
    load(bias + i % columns, added);
    load(y + i, values);
    for (int j = 0; j < M; ++j) values[j] += added[j];
    store(values, y + i);
  });
}

}  // namespace

Result<void> bias_add(int rows, int columns, ElementType type, const void* bias, void* y,
                      DeviceStream stream) {
  const auto width = static_cast<std::size_t>(columns);
  const std::size_t count = static_cast<std::size_t>(rows) * width;
  return dispatch(type, width, {bias, y}, [&]<class T, int N>() {
    return launch("bias_add", bias_add_kernel<T, N>, elements_grid(count, N), stream, count, width,
                  static_cast<const T*>(bias), static_cast<T*>(y));
  });
}

}  // namespace hocket::kernels
