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
#include "examples/gpt2/model/text.h"
#include "job/step/submitter.h"
#include "job/step/trained_model.h"

namespace hocket {

class Gpt2 final : public TrainedModel {
 public:
  /// Allocates all memory for training and initialises the parameters. `text` and `backend` must
  /// outlive the model; a backend serves one model. Returns invalid_argument for an invalid
  /// configuration or a text that does not fit it, and unavailable when there is not enough memory.
  static Result<std::unique_ptr<Gpt2>> create(const Gpt2Config& config,
                                              const TrainingOptions& options, const Text& text,
                                              Backend& backend);

  Gpt2(const Gpt2&) = delete;
  Gpt2& operator=(const Gpt2&) = delete;

  void attach(Submitter& submitter) override;

  /// Submits one step: the forward and backward pass of each micro-batch in order, and all-reduces
  /// and updates with the last one.
  void submit_step(std::int64_t step) {
    draw(step);
    submit_tasks();
  }

  /// The two halves of submit_step(). The tasks are the same in every step, so they may be captured
  /// and launched; the step's batches must be drawn before each time. Steps come in order from 0,
  /// and at most kDrawnSteps may be drawn and unfinished.
  void draw(std::int64_t step) override;
  void submit_tasks() override;

  DataId first_gradient() override { return groups_.back().gradient_data(BlockParameter::gain); }
  RankGrid grid() const override { return options_.grid(); }
  bool divides() const override { return backend_.divides(); }
  /// Empty where the backend does not keep micro-batches from step to step.
  MicroBatchMemory micro_batch_memory() const override;

  /// Returns this rank's mean loss, in nats per token, of a finished step; NaN before.
  float loss(std::int64_t step) const;
  /// Returns loss() of each step.
  std::vector<float> losses() const;

  const Backend& backend() const { return backend_; }
  const TrainingOptions& options() const { return options_; }
  /// Returns the bytes of this rank's share of the optimiser's moments.
  std::int64_t optimizer_bytes() const;

  /// Returns the FNV-1a hash (64 bits, over 32-bit words) of all parameters. This and the functions
  /// below require that nothing submitted is unfinished.
  std::uint64_t parameters_hash() const;

  /// Returns the groups by place.
  std::deque<ParameterGroup>& groups() { return groups_; }

  /// Returns what the head computed the last step's last micro-batch from: batch·sequence ×
  /// d_model.
  const Buffer& head_input() const;

 private:
  Gpt2(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
       Backend& backend);

  std::span<float> losses_of(std::int64_t step) const;

  const Gpt2Config config_;
  const TrainingOptions options_;
  const Text& text_;
  Backend& backend_;
  Submitter* submitter_ = nullptr;

  std::deque<ParameterGroup> groups_;
  std::span<float> losses_;          // by step and micro-batch
  std::deque<PassMemory> memories_;  // shared by the passes in turn
  std::deque<Pass> passes_;          // by micro-batch
  std::int64_t drawn_ = 0;           // number of steps drawn
};

}  // namespace hocket
