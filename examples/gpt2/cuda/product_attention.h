#pragma once

// Attention made of products of matrices, where there is no fused kernel (fused_attention.h): the
// weights of all heads are kept in memory from the forward pass for the backward pass. Layouts are
// those of ops.h.

#include "core/base/result.h"
#include "core/cuda/driver/element_type.h"
#include "core/cuda/executor/device_task.h"
#include "core/cuda/products/matrix_product.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

/// All of `type`. `weights`, and `dweights` to scribble on: batch × heads × sequence × sequence.
struct AttentionOperands {
  void* qkv = nullptr;
  void* weights = nullptr;
  void* y = nullptr;   ///< of the forward pass
  void* dy = nullptr;  ///< of the backward pass, as all below
  void* dweights = nullptr;
  void* dqkv = nullptr;
};

class ProductAttention {
 public:
  /// `products` must outlive it.
  ProductAttention(MatrixProducts& products, const AttentionShape& shape, ElementType type)
      : products_(products), shape_(shape), type_(type) {}

  Result<void> forward(const AttentionOperands& operands, const DeviceTask& task) const;
  Result<void> backward(const AttentionOperands& operands, const DeviceTask& task) const;

 private:
  std::int64_t head_width() const { return shape_.width / shape_.heads; }
  /// The matrices of one sequence, of all its heads, which lie beside each other: column `first`
  /// onwards of rows of `row_stride` elements.
  DeviceMatrix columns(void* values, int sequence, std::int64_t row_stride,
                       std::int64_t first) const;
  /// The same of weights, one head's behind the other's.
  DeviceMatrix square(void* values, int sequence) const;
  /// 1/√(width of a head).
  float scale() const;

  MatrixProducts& products_;
  const AttentionShape shape_;
  const ElementType type_;
};

}  // namespace hocket
