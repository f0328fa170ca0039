#pragma once

// A GPT-2-style language model (Radford et al., 2019, section 2.3: pre-norm blocks, tied output
// head), trained on bytes, data-parallel over ranks; every operation is a task.
//
//   HostBackend backend;
//   auto model = Gpt2::create(config, options, text, backend);
//   Scheduler scheduler(…);                       // after the model, so that its tasks end before
//   SchedulerSubmitter submitter(scheduler);
//   (*model)->attach(submitter);
//   for (step…) { (*model)->submit_step(step); scheduler.end_step(); }
//
// One thread calls; the tasks run wherever the submitter runs them.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/task.h"
#include "examples/gpt2/backend.h"
#include "examples/gpt2/block.h"
#include "examples/gpt2/config.h"
#include "examples/gpt2/layers.h"
#include "examples/gpt2/parameters.h"
#include "examples/gpt2/submitter.h"
#include "examples/gpt2/text.h"

namespace hocket {

class Gpt2 {
 public:
  /// Allocates all that training needs and initialises the parameters. `text` and `backend`, which
  /// serves one model, must outlive it. invalid_argument for a bad configuration or a text that
  /// does not fit it, unavailable when there is not enough memory.
  static Result<std::unique_ptr<Gpt2>> create(const Gpt2Config& config,
                                              const TrainingOptions& options, const Text& text,
                                              Backend& backend);

  Gpt2(const Gpt2&) = delete;
  Gpt2& operator=(const Gpt2&) = delete;

  /// Gives the model's data to `submitter`, which gets all steps from then on. Again only when all
  /// that the one before got is finished.
  void attach(Submitter& submitter);

  /// Submits one step: batch, forward, backward, all-reduces, updates. Steps come in order, from 0.
  void submit_step(std::int64_t step);

  /// This rank's mean loss, in nats a token, of each step; NaN until the step has run. A value may
  /// be read once its step has finished.
  std::span<const float> losses() const { return losses_; }

  /// FNV-1a (64 bits, over 32-bit words) of all parameters. This and all below: only while nothing
  /// submitted is unfinished.
  std::uint64_t parameters_hash() const;

  /// By place.
  std::deque<ParameterGroup>& groups() { return groups_; }

  /// Of the last step: batch·sequence × vocabulary.
  const Buffer& logits() const { return logits_; }

 private:
  Gpt2(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
       Backend& backend);

  ParameterGroup& embedding() { return groups_.front(); }
  EmbeddingShape embedding_shape() const;
  LinearShape head_shape() const { return {config_.rows(), config_.d_model, config_.vocabulary}; }

  /// The residual stream that enters a block, or, for the number of blocks, the final norm.
  const Buffer& stream(std::size_t block) const {
    return block == 0 ? embedded_ : blocks_[block - 1].out();
  }
  /// Those that live within a step.
  std::vector<Buffer*> step_buffers();
  /// Alternate, so that a block's output gradient is in the other set than its own.
  BlockGradients& gradients(std::size_t block) { return gradients_[block % 2]; }

  BufferSlice token_table() { return embedding().weights(EmbeddingParameter::tokens); }

  void submit_embedding_forward(std::int64_t step);
  void submit_head_forward(std::int64_t step);
  void submit_head_backward();
  void submit_blocks_backward(std::int64_t step);
  void submit_embedding_backward();

  const Gpt2Config config_;
  const TrainingOptions options_;
  const Text& text_;
  Backend& backend_;
  Submitter* submitter_ = nullptr;

  std::deque<ParameterGroup> groups_;
  DataId batch_id_;  // of inputs and targets
  std::span<float> losses_;

  Buffer embedded_;
  std::deque<Block> blocks_;
  LayerNorm final_norm_;
  Buffer normed_, statistics_, logits_, dlogits_, dnormed_;
  std::array<BlockGradients, 2> gradients_;
};

}  // namespace hocket
