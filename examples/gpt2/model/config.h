#pragma once

// Configuration of a GPT-2-style model and of its training: plain values, validated before use.

#include <cstdint>

#include "core/base/result.h"
#include "core/protocol/workload.h"
#include "core/step/rank_grid.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

struct Gpt2Config {
  int layers = 4;
  int heads = 8;      ///< divides d_model
  int d_model = 256;  ///< width of the residual stream
  int sequence = 64;  ///< tokens in a sequence
  int batch = 4;      ///< sequences of each rank per step, or per micro-batch of it
  int vocabulary = 256;

  int rows() const { return batch * sequence; }
};

/// Returns invalid_argument with the field and its range.
Result<void> validate(const Gpt2Config& config);

struct TrainingOptions {
  std::uint64_t seed = 1;  ///< seed of the initial parameters and the batches
  std::int64_t steps = 100;
  int rank = 0;
  int world_size = 1;
  AdamW adamw = {};
  int ranks_per_host = 1;  ///< divides world_size
  /// Batches per step, whose gradients are summed.
  int micro_batches = 1;
  /// Micro-batches that have memory for their activations at the same time; at most micro_batches.
  int micro_batches_kept = 1;
  /// Launches steps as graphs on a device. Their activations take memory in addition to that of the
  /// first step.
  bool steps_as_graphs = false;
  /// Keeps on each rank only the moments of its own blocks of the parameters.
  bool shard_optimizer = false;
  /// Leaves the moments and the optimiser's steps to the parameter servers.
  bool update_on_servers = false;
  /// Limit on the model's memory; 0: all there is.
  std::int64_t memory_limit_bytes = 0;

  RankGrid grid() const { return {world_size, ranks_per_host}; }
};

/// Returns invalid_argument with the field and its range.
Result<void> validate(const TrainingOptions& options);

/// Returns what the model communicates in a step: one gradient for each group of parameters, in
/// forward order. `config` must be valid.
Workload workload(const Gpt2Config& config);
/// Does the same and adds to the name the options that change the work of a step.
Workload workload(const Gpt2Config& config, const TrainingOptions& options);

}  // namespace hocket
