#pragma once

// Interface to attention as one kernel, which never writes the matrix of weights to memory
// (FlashAttention; Dao et al., arXiv:2205.14135). Implementation: cuDNN (cudnn_attention.h). For
// bfloat16, with the layouts of ops.h. One thread at a time.

#include <cstddef>

#include "core/base/result.h"
#include "core/cuda/executor/device_task.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

class FusedAttention {
 public:
  virtual ~FusedAttention() = default;

  /// Prepares for a shape. Returns invalid_argument or unavailable when there is no kernel for it.
  virtual Result<void> prepare(const AttentionShape& shape) = 0;
  /// Return the sizes of the passes' scratch memory, for the prepared shape. That of the backward
  /// pass may be as large as all attention weights; that of the forward pass is small.
  virtual std::size_t forward_workspace_bytes() const = 0;
  virtual std::size_t backward_workspace_bytes() const = 0;

  /// `statistics` has batch × heads × sequence floats, for the backward pass.
  virtual Result<void> forward(const void* qkv, float* statistics, void* y, void* workspace,
                               const DeviceTask& task) = 0;
  virtual Result<void> backward(const void* qkv, const float* statistics, const void* y,
                                const void* dy, void* dqkv, void* workspace,
                                const DeviceTask& task) = 0;
};

}  // namespace hocket
