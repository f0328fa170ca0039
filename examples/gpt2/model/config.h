#pragma once

// What a GPT-2-style model and its training look like: plain values, checked before use.

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
  int batch = 4;      ///< sequences of each rank in a step, or in each micro-batch of it
  int vocabulary = 256;

  int rows() const { return batch * sequence; }
};

/// invalid_argument names the field and its range.
Result<void> validate(const Gpt2Config& config);

struct TrainingOptions {
  std::uint64_t seed = 1;  ///< of the first parameters and of the batches
  std::int64_t steps = 100;
  int rank = 0;
  int world_size = 1;
  AdamW adamw = {};
  int ranks_per_host = 1;  ///< divides world_size
  /// Batches of each step, whose gradients are added up.
  int micro_batches = 1;
  /// So many of them have memory for their activations at once; up to micro_batches.
  int micro_batches_kept = 1;
  /// As graphs on a device, which have memory of their own for activations, beside the first
  /// step's.
  bool steps_as_graphs = false;
  /// A rank keeps the moments of its own blocks of the parameters alone.
  bool shard_optimizer = false;
  /// What the model may take; 0: what there is.
  std::int64_t memory_limit_bytes = 0;

  RankGrid grid() const { return {world_size, ranks_per_host}; }
};

/// invalid_argument names the field and its range.
Result<void> validate(const TrainingOptions& options);

/// What the model communicates in a step: one gradient for each group of parameters, in forward
/// order. `config` must be valid.
Workload workload(const Gpt2Config& config);
/// The same, named after the options, too, as far as they change what a step does.
Workload workload(const Gpt2Config& config, const TrainingOptions& options);

}  // namespace hocket
