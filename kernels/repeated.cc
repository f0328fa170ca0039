#include "kernels/repeated.h"

namespace hocket {

DimensionStrides dense_strides(const Shape& shape) {
  DimensionStrides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

DimensionStrides repeated_strides(const Shape& shape, const Shape& to) {
  const DimensionStrides own = dense_strides(shape);
  DimensionStrides strides(to.size(), 0);
  const std::size_t missing = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) strides[missing + i] = own[i];
  return strides;
}

}  // namespace hocket
