#pragma once

// Interface to attention as one kernel, which never writes the matrix of weights to memory
// (FlashAttention; Dao et al., arXiv:2205.14135), for bfloat16. Implementation: cuDNN
// (kernels/cuda/cudnn/cudnn_attention.h). One thread at a time.

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/cuda/executor/device_task.h"
#include "kernels/cuda/heads_layout.h"

namespace hocket {

/// Attention in which each head has keys and values of its own, of as many positions and columns as
/// its queries.
struct FusedAttentionShape {
  HeadsLayout inputs = {};   ///< of queries, keys and values each, and of their gradients
  HeadsLayout outputs = {};  ///< of the result and its gradient
  bool is_causal = false;    ///< position i sees none behind it
  /// Refuses kernels that add up gradients of queries in an order that changes.
  bool keeps_order = true;
  float scale = 1;

  auto operator<=>(const FusedAttentionShape&) const = default;

  std::int64_t batch() const { return inputs.extents[0]; }
  std::int64_t heads() const { return inputs.extents[1]; }
  std::int64_t positions() const { return inputs.extents[2]; }
  std::int64_t width() const { return inputs.extents[3]; }
};

/// The memory of queries, keys and values, which begins at multiples of 16 bytes.
struct FusedInputs {
  const void *queries = nullptr, *keys = nullptr, *values = nullptr;
};
struct FusedGradients {
  void *queries = nullptr, *keys = nullptr, *values = nullptr;
};

/// The kernels for a shape. Their workspaces begin at multiples of 256 bytes.
class FusedAttentionPlan {
 public:
  virtual ~FusedAttentionPlan() = default;

  /// Bytes of scratch memory. That of the backward pass may be as large as all attention weights;
  /// that of the forward pass is small.
  virtual std::int64_t forward_workspace_bytes() const = 0;
  virtual std::int64_t backward_workspace_bytes() const = 0;

  /// `log_sums`, the logarithms of the sums of each row's exponentials, are dense.
  virtual Result<void> forward(const FusedInputs& inputs, float* log_sums, void* y, void* workspace,
                               const DeviceTask& task) const = 0;
  virtual Result<void> backward(const FusedInputs& inputs, const float* log_sums, const void* y,
                                const void* dy, const FusedGradients& gradients, void* workspace,
                                const DeviceTask& task) const = 0;
};

class FusedAttention {
 public:
  virtual ~FusedAttention() = default;

  /// Returns the plan of a shape, which this object outlives; that of a shape that was asked for
  /// before is the same. invalid_argument or unavailable when there is no kernel for it.
  virtual Result<std::shared_ptr<const FusedAttentionPlan>> prepare(
      const FusedAttentionShape& shape) = 0;
};

}  // namespace hocket
