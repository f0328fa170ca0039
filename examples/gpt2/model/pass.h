#pragma once

// The forward and the backward pass of one micro-batch, and the memory that they need. Passes may
// take turns with memory, which they then access in the order of submission. One thread submits.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/step/task.h"
#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/block.h"
#include "examples/gpt2/model/config.h"
#include "examples/gpt2/model/layers.h"
#include "examples/gpt2/model/parameters.h"
#include "examples/gpt2/model/submitter.h"

namespace hocket {

/// A batch, activations and their gradients.
struct PassMemory {
  /// The batch is the backend's `batch`th.
  PassMemory(BufferAllocator& allocator, const Gpt2Config& config, std::size_t batch);
  void attach(Submitter& submitter);
  /// Those that live within a step.
  std::vector<Buffer*> buffers();

  /// The residual stream that enters a block, or, for the number of blocks, the final norm.
  const Buffer& stream(std::size_t block) const {
    return block == 0 ? embedded : blocks[block - 1].out;
  }
  /// Alternate, so that a block's output gradient is in the other set than its own.
  BlockGradients& gradients_of(std::size_t block) { return gradients[block % 2]; }

  std::size_t batch = 0;
  DataId batch_id;  ///< of inputs and targets
  Buffer embedded;
  std::deque<BlockActivations> blocks;
  Buffer normed, statistics, logits, dlogits, dnormed;
  std::array<BlockGradients, 2> gradients;
};

class Pass {
 public:
  /// What all passes share; must outlive them.
  struct Shared {
    const Gpt2Config& config;
    std::deque<ParameterGroup>& groups;  ///< by place
    Backend& backend;
  };

  /// Its losses go to `losses`.
  Pass(const Shared& shared, PassMemory& memory, MicroBatch of, const LossPlaces& losses);
  /// The groups and the memory are attached.
  void attach();

  void submit_forward(Submitter& submitter);

  /// Calls `complete` for each group once the tasks that this pass adds to its gradients with are
  /// submitted.
  void submit_backward(Submitter& submitter, const std::function<void(ParameterGroup&)>& complete);

 private:
  ParameterGroup& embedding() { return shared_.groups.front(); }
  ParameterGroup& final_group() { return shared_.groups.back(); }
  Backend& backend() { return shared_.backend; }
  BufferSlice token_table() { return embedding().weights(EmbeddingParameter::tokens); }
  EmbeddingShape embedding_shape() const;
  LinearShape head_shape() const;

  void submit_embedding_forward(Submitter& submitter);
  void submit_head_forward(Submitter& submitter);
  void submit_head_backward(Submitter& submitter);
  void submit_embedding_backward(Submitter& submitter);

  const Shared shared_;
  PassMemory& memory_;
  const MicroBatch micro_batch_;
  const Count loaded_;
  const LossPlaces losses_;
  LayerTask batch_task_;
  LayerTasks lookup_tasks_, embedding_tasks_, head_tasks_;
  LayerTask loss_task_, table_task_;
  std::deque<Block> blocks_;
  LayerNorm final_norm_;
};

}  // namespace hocket
