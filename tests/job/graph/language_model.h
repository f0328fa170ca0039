#pragma once

// A small GPT-2 as a graph model that is trained on bytes of text, on the host or placed on a
// device of limited memory. One thread.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/passes.h"
#include "core/placement/offload_memory.h"
#include "core/protocol/workload.h"
#include "job/graph/graph_model.h"
#include "job/model/batches.h"
#include "models/data/token_source.h"
#include "models/gpt2.h"
#include "tests/job/graph/trained_graphs.h"

namespace hocket {

struct LanguageTraining {
  std::int64_t steps = 100;
  int rank = 0;
  RankGrid grid = {};
  std::int64_t micro_batches = 1, micro_batches_kept = 1;
  std::int64_t slack = 0;
  bool shards_optimiser = false;
  OffloadMemory* placed = nullptr;
};

class LanguageModel {
 public:
  /// `options` has `positions` of at least its sequence.
  LanguageModel(const Gpt2Options& options, const LanguageTraining& training)
      : tokens_(TokenSource::of_text(
            "whoever rests while the others sing is part of the song all the same")),
        graph_(gpt2(options).value()) {
    PassOptions passes;
    passes.needed.outputs = {"loss"};
    passes.micro_batches.count = training.micro_batches;
    passes.optimiser = {.method = OptimiserMethod::adamw,
                        .weight_decay = 0.1,
                        .ranks = training.grid.ranks,
                        .sums = true};
    batches_ = std::make_unique<Batches>(
        Batches::create(graph_, tokens_, {.seed = 1, .rate = 5e-4}).value());
    auto model = GraphModel::create(
        run_passes(graph_, "fusion", passes).value(), kernels(), KernelDevice::host,
        host_kernel_memory(),
        {.grid = training.grid,
         .rank = training.rank,
         .steps = training.steps,
         .slack_operations = training.slack,
         .micro_batches_kept = training.micro_batches_kept,
         .shards_optimiser = training.shards_optimiser,
         .placed = training.placed,
         .draw = [this, rank = training.rank](std::int64_t step, std::string_view input,
                                              std::span<std::byte> bytes) {
           batches_->draw(rank, step, input, bytes);
         }});
    EXPECT_TRUE(model) << model.error().message;
    model_ = std::move(*model);
    steps_ = training.steps;
    write(options);
  }
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  GraphModel* operator->() const { return model_.get(); }
  GraphModel& operator*() const { return *model_; }

  void submit_step(std::int64_t step) const {
    model_->draw(step);
    model_->submit_tasks();
  }

  std::vector<float> losses() const {
    std::vector<float> losses;
    for (std::int64_t step = 0; step < steps_; ++step)
      losses.push_back(model_->output("loss", step));
    return losses;
  }

  /// Returns a hash of the parameters.
  std::size_t hash() const {
    std::string all;
    for (const Operation& operation : graph_.operations()) {
      if (operation.kind != OperationKind::parameter) continue;
      const std::vector<std::byte> bytes = model_->read(operation.name).value();
      all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return std::hash<std::string>()(all);
  }

  Workload workload() const { return {.name = "gpt2", .tensors = gradient_groups(graph_)}; }

 private:
  void write(const Gpt2Options& options) const {
    for (const Operation& operation : graph_.operations()) {
      if (operation.kind != OperationKind::parameter) continue;
      const ValueType& type = graph_.type(operation.first_result);
      std::vector<float> values(static_cast<std::size_t>(type.count()));
      draw_initial(gpt2_initial(options, operation.name, type.shape), 1, operation.name, 0, values);
      EXPECT_TRUE(model_->write(operation.name, std::as_bytes(std::span(values))));
    }
  }

  const TokenSource tokens_;
  const Graph graph_;
  std::unique_ptr<Batches> batches_;
  std::unique_ptr<GraphModel> model_;
  std::int64_t steps_ = 0;
};

/// Returns options of a small model.
inline Gpt2Options small_gpt2(std::int64_t layers, std::int64_t width, std::int64_t sequence) {
  return {.layers = layers,
          .heads = 2,
          .width = width,
          .vocabulary = 128,
          .positions = sequence,
          .sequence = sequence,
          .batch = 2};
}

}  // namespace hocket
