#pragma once

// What a GPT-2-style model and its training look like: plain values, checked before use.

#include <cstdint>

#include "core/result.h"
#include "core/workload.h"
#include "examples/gpt2/ops.h"

namespace hocket {

struct Gpt2Config {
  int layers = 4;
  int heads = 8;      ///< divides d_model
  int d_model = 256;  ///< width of the residual stream
  int sequence = 64;  ///< tokens in a sequence
  int batch = 4;      ///< sequences of each rank in a step
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
};

/// invalid_argument names the field and its range.
Result<void> validate(const TrainingOptions& options);

/// What the model communicates in a step: one gradient for each group of parameters, in forward
/// order. `config` must be valid.
Workload workload(const Gpt2Config& config);

/// About what training the model takes, in bytes. `config` must be valid.
std::int64_t memory_bytes(const Gpt2Config& config);

}  // namespace hocket
