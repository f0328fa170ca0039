#pragma once

// One pre-norm transformer block: x + attention(norm(x)), then x + MLP(norm(x)). Buffers given to
// it must not move until the tasks have run. One thread submits.

#include <vector>

#include "examples/gpt2/model/config.h"
#include "examples/gpt2/model/layers.h"
#include "examples/gpt2/model/parameters.h"
#include "job/step/submitter.h"

namespace hocket {

AttentionShape attention_shape(const Gpt2Config& config);

/// Gradients inside a block. Blocks alternate between two sets, so that the next block's backward
/// pass need not wait for weight gradients that still read this one's set.
struct BlockGradients {
  BlockGradients(BufferAllocator& allocator, const Gpt2Config& config);
  std::vector<NamedBuffer> buffers();

  Buffer in;  ///< gradient of the residual stream that enters the block
  Buffer attention_normed, qkv, attended;
  Buffer middle;  ///< gradient of the residual stream between attention and MLP
  Buffer mlp_normed, up;
};

/// Activations that a block's forward pass keeps for its backward pass.
struct BlockActivations {
  BlockActivations(BufferAllocator& allocator, const Gpt2Config& config);
  std::vector<NamedBuffer> buffers();

  Buffer attention_normed, attention_statistics, qkv, attention_kept, attended;
  Buffer middle;
  Buffer mlp_normed, mlp_statistics, up, gelu;
  Buffer out;  ///< the residual stream that leaves the block
};

class Block {
 public:
  /// Creates the block for micro-batch `of`, with its activations in `kept`.
  Block(const Gpt2Config& config, ParameterGroup& attention, ParameterGroup& mlp,
        BlockActivations& kept, MicroBatch of);
  /// Requires that the groups are attached.
  void attach();

  /// `in` is the residual stream that enters the block.
  void submit_forward(Submitter& submitter, const Buffer& in);

  /// Computes gradients.middle from `dout`, and the gradients of the MLP's parameters.
  void submit_mlp_backward(Submitter& submitter, const Buffer& dout, BlockGradients& gradients);

  /// Computes gradients.in from gradients.middle, and the gradients of the attention's parameters.
  void submit_attention_backward(Submitter& submitter, const Buffer& in, BlockGradients& gradients,
                                 Buffer& scratch);

 private:
  void submit_attention(Submitter& submitter);

  AttentionShape attention_shape_;
  ParameterGroup &attention_, &mlp_;
  BlockActivations& kept_;
  LayerTasks heads_tasks_;
  LayerNorm attention_norm_, mlp_norm_;
  Linear qkv_, attention_projection_, up_, down_;
};

}  // namespace hocket
