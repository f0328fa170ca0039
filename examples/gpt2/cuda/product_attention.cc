#include "examples/gpt2/cuda/product_attention.h"

#include <cmath>
#include <cstddef>

#include "examples/gpt2/cuda/kernels.h"

namespace hocket {

DeviceMatrix ProductAttention::columns(void* values, int sequence, std::int64_t row_stride,
                                       std::int64_t first) const {
  const std::int64_t offset = std::int64_t{sequence} * shape_.sequence * row_stride + first;
  return {.values = static_cast<std::byte*>(values) + offset * element_bytes(type_),
          .type = type_,
          .rows = shape_.sequence,
          .columns = static_cast<int>(head_width()),
          .row_stride = row_stride,
          .batch_stride = head_width()};
}

DeviceMatrix ProductAttention::square(void* values, int sequence) const {
  const std::int64_t size = std::int64_t{shape_.sequence} * shape_.sequence;
  return {
      .values = static_cast<std::byte*>(values) +
                sequence * shape_.heads * size * static_cast<std::int64_t>(element_bytes(type_)),
      .type = type_,
      .rows = shape_.sequence,
      .columns = shape_.sequence,
      .batch_stride = size};
}

float ProductAttention::scale() const {
  return 1 / std::sqrt(static_cast<float>(head_width()));
}

Result<void> ProductAttention::forward(const AttentionOperands& operands,
                                       const DeviceTask& task) const {
  const std::int64_t width = shape_.width;
  Result<void> ok;
  for (int sequence = 0; ok && sequence < shape_.batch; ++sequence) {
    ok = products_.multiply({.a = columns(operands.qkv, sequence, 3 * width, 0),
                             .b = columns(operands.qkv, sequence, 3 * width, width),
                             .c = square(operands.weights, sequence),
                             .transpose_b = true,
                             .scale = scale(),
                             .batch = shape_.heads},
                            task);
  }
  if (ok) ok = kernels::softmax_causal_forward(shape_, type_, operands.weights, task.stream);
  for (int sequence = 0; ok && sequence < shape_.batch; ++sequence) {
    ok = products_.multiply({.a = square(operands.weights, sequence),
                             .b = columns(operands.qkv, sequence, 3 * width, 2 * width),
                             .c = columns(operands.y, sequence, width, 0),
                             .batch = shape_.heads},
                            task);
  }
  return ok;
}

Result<void> ProductAttention::backward(const AttentionOperands& operands,
                                        const DeviceTask& task) const {
  const std::int64_t width = shape_.width;
  Result<void> ok;
  for (int sequence = 0; ok && sequence < shape_.batch; ++sequence) {
    ok = products_.multiply({.a = square(operands.weights, sequence),
                             .b = columns(operands.dy, sequence, width, 0),
                             .c = columns(operands.dqkv, sequence, 3 * width, 2 * width),
                             .transpose_a = true,
                             .batch = shape_.heads},
                            task);
    if (ok)
      ok = products_.multiply({.a = columns(operands.dy, sequence, width, 0),
                               .b = columns(operands.qkv, sequence, 3 * width, 2 * width),
                               .c = square(operands.dweights, sequence),
                               .transpose_b = true,
                               .batch = shape_.heads},
                              task);
  }
  if (ok)
    ok = kernels::softmax_causal_backward(shape_, type_, operands.weights, operands.dweights,
                                          task.stream);
  for (int sequence = 0; ok && sequence < shape_.batch; ++sequence) {
    ok = products_.multiply({.a = square(operands.dweights, sequence),
                             .b = columns(operands.qkv, sequence, 3 * width, width),
                             .c = columns(operands.dqkv, sequence, 3 * width, 0),
                             .scale = scale(),
                             .batch = shape_.heads},
                            task);
    if (ok)
      ok = products_.multiply({.a = square(operands.dweights, sequence),
                               .b = columns(operands.qkv, sequence, 3 * width, 0),
                               .c = columns(operands.dqkv, sequence, 3 * width, width),
                               .transpose_a = true,
                               .scale = scale(),
                               .batch = shape_.heads},
                              task);
  }
  return ok;
}

}  // namespace hocket
