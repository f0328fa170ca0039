#pragma once

// The forward and backward pass of one micro-batch, and the memory they need. Passes may use the
// same memory in turn; they then access it in the order of submission. One thread submits.

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
#include "job/step/submitter.h"

namespace hocket {

/// Memory of a pass: a batch, activations and their gradients.
struct PassMemory {
  /// `batch` is the backend's index of the batch.
  PassMemory(BufferAllocator& allocator, const Gpt2Config& config, std::size_t batch);
  void attach(Submitter& submitter);
  /// Returns the buffers that live within a step.
  std::vector<NamedBuffer> buffers();

  /// Returns the residual stream that enters `block`; for the number of blocks, the one that enters
  /// the final norm.
  const Buffer& stream(std::size_t block) const {
    return block == 0 ? embedded : blocks[block - 1].out;
  }
  /// Returns the gradients of `block`. The two sets alternate, so that the gradient of a block's
  /// output is in the other set than its own.
  BlockGradients& gradients_of(std::size_t block) { return gradients[block % 2]; }

  std::size_t batch = 0;
  DataId batch_id;  ///< stands for inputs and targets
  Buffer embedded;
  std::deque<BlockActivations> blocks;
  Buffer normed, statistics, dnormed;
  Buffer logits;  ///< replaced by their gradient
  std::array<BlockGradients, 2> gradients;
  /// Used by one block after the other: each needs the gradient that the one before computes.
  Buffer attention_scratch;
};

class Pass {
 public:
  /// State shared by all passes; must outlive them.
  struct Shared {
    const Gpt2Config& config;
    std::deque<ParameterGroup>& groups;  ///< by place
    Backend& backend;
  };

  /// `losses` are the places of its losses.
  Pass(const Shared& shared, PassMemory& memory, MicroBatch of, const LossPlaces& losses);
  /// Requires that the groups and the memory are attached.
  void attach();

  void submit_forward(Submitter& submitter);

  /// Calls `complete` for each group once all tasks of this pass that contribute to its gradients
  /// are submitted.
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
