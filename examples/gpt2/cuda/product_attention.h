#pragma once

// Attention by matrix products, where there is no fused kernel (fused_attention.h): the forward
// pass keeps the weights of all heads in memory for the backward pass. Layouts are those of ops.h.
// One thread at a time.

#include "core/base/result.h"
#include "core/cuda/executor/device_task.h"
#include "core/cuda/products/matrix_product.h"
#include "core/step/element_type.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

/// Operands, all of `type`. `weights` and the scratch `dweights` are batch × heads × sequence ×
/// sequence.
struct AttentionOperands {
  void* qkv = nullptr;
  void* weights = nullptr;
  void* y = nullptr;   ///< used in the forward pass
  void* dy = nullptr;  ///< used in the backward pass, as all members below
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
  /// Describes the matrices of all heads of one sequence, which lie side by side, from column
  /// `first` on of rows of `row_stride` elements.
  DeviceMatrix columns(void* values, int sequence, std::int64_t row_stride,
                       std::int64_t first) const;
  /// Describes the matrices of weights of all heads of one sequence, one after another.
  DeviceMatrix square(void* values, int sequence) const;
  /// Returns 1/√(width of a head).
  float scale() const;

  MatrixProducts& products_;
  const AttentionShape shape_;
  const ElementType type_;
};

}  // namespace hocket
