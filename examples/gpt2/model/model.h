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

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/config.h"
#include "examples/gpt2/model/memory.h"
#include "examples/gpt2/model/parameters.h"
#include "examples/gpt2/model/pass.h"
#include "examples/gpt2/model/submitter.h"
#include "examples/gpt2/model/text.h"

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

  /// Submits one step: the forward and the backward pass of each of its micro-batches, one after
  /// the other, and with the last one all-reduces and updates.
  void submit_step(std::int64_t step) {
    draw(step);
    submit_tasks();
  }

  /// The same in two. The tasks are the same ones for every step, so they may be captured and
  /// replayed; before each time the step's batches are drawn. Steps come in order, from 0, and at
  /// most kDrawnSteps are drawn and not finished.
  void draw(std::int64_t step);
  void submit_tasks();

  /// This rank's mean loss, in nats a token, of a step that has finished; NaN before.
  float loss(std::int64_t step) const;
  /// Of each step.
  std::vector<float> losses() const;

  const Backend& backend() const { return backend_; }
  const TrainingOptions& options() const { return options_; }
  /// What this rank's share of the optimiser's moments takes.
  std::int64_t optimizer_bytes() const;
  /// What one micro-batch takes, and what is there for those that are kept.
  std::int64_t micro_batch_bytes() const {
    return hocket::micro_batch_bytes(config_, options_, backend_);
  }
  std::int64_t micro_batches_limit_bytes() const;

  /// FNV-1a (64 bits, over 32-bit words) of all parameters. This and all below: only while nothing
  /// submitted is unfinished.
  std::uint64_t parameters_hash() const;

  /// By place.
  std::deque<ParameterGroup>& groups() { return groups_; }

  /// Of the last step's last micro-batch: batch·sequence × vocabulary.
  const Buffer& logits() const;

 private:
  Gpt2(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
       Backend& backend);

  /// Those that live within a step.
  std::vector<Buffer*> step_buffers();
  std::span<float> losses_of(std::int64_t step) const;

  const Gpt2Config config_;
  const TrainingOptions options_;
  const Text& text_;
  Backend& backend_;
  Submitter* submitter_ = nullptr;

  std::deque<ParameterGroup> groups_;
  std::span<float> losses_;          // of each micro-batch of each step
  std::deque<PassMemory> memories_;  // which the passes take turns with
  std::deque<Pass> passes_;          // of each micro-batch
  std::int64_t drawn_ = 0;           // steps
};

}  // namespace hocket
