#pragma once

// One pre-norm transformer block: x + attention(norm(x)), then x + MLP(norm(x)). It owns what its
// forward pass leaves for its backward pass. Buffers given to it must keep their place until the
// tasks have run. One thread submits.

#include <vector>

#include "examples/gpt2/config.h"
#include "examples/gpt2/layers.h"
#include "examples/gpt2/parameters.h"
#include "examples/gpt2/submitter.h"

namespace hocket {

/// Gradients inside a block. Blocks take turns with two sets, so that the next block's backward
/// pass need not wait for the weight gradients that still read this one's.
struct BlockGradients {
  BlockGradients(Backend& backend, const Gpt2Config& config);
  void attach(Submitter& submitter);
  std::vector<Buffer*> buffers();

  Buffer in;  ///< of the residual stream that entered the block
  Buffer attention_normed, qkv, attended, attention_scratch;
  Buffer middle;  ///< of the residual stream between attention and MLP
  Buffer mlp_normed, up;
};

class Block {
 public:
  Block(const Gpt2Config& config, ParameterGroup& attention, ParameterGroup& mlp);
  void attach(Submitter& submitter);
  std::vector<Buffer*> buffers();

  /// The residual stream that leaves the block.
  const Buffer& out() const { return out_; }

  /// `in` is the residual stream that enters.
  void submit_forward(Submitter& submitter, const Buffer& in);

  /// From `dout` to gradients.middle, and the gradients of the MLP's parameters.
  void submit_mlp_backward(Submitter& submitter, const Buffer& dout, BlockGradients& gradients);

  /// From gradients.middle to gradients.in, and the gradients of the attention's parameters.
  void submit_attention_backward(Submitter& submitter, const Buffer& in, BlockGradients& gradients);

 private:
  void submit_attention(Submitter& submitter);

  AttentionShape attention_shape_;
  ParameterGroup &attention_, &mlp_;
  LayerNames heads_names_;
  LayerNorm attention_norm_, mlp_norm_;
  Linear qkv_, attention_projection_, up_, down_;

  Buffer attention_normed_, attention_statistics_, qkv_out_, attention_kept_, attended_;
  Buffer middle_;
  Buffer mlp_normed_, mlp_statistics_, up_out_, gelu_out_;
  Buffer out_;
};

}  // namespace hocket
