#pragma once

// The memory that training takes on a backend, before it is allocated. Pure, but that the backend
// may prepare for what it is asked about.

#include <cstdint>

#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/config.h"

namespace hocket {

/// What the activations of a batch and their gradients take, in bytes. `config` must be valid.
std::int64_t activation_bytes(const Gpt2Config& config, BufferAllocator& allocator);

/// What each micro-batch that is kept takes, in bytes.
std::int64_t micro_batch_bytes(const Gpt2Config& config, const TrainingOptions& options,
                               BufferAllocator& allocator);

/// About what training the model takes, in bytes. Both must be valid.
std::int64_t memory_bytes(const Gpt2Config& config, const TrainingOptions& options,
                          BufferAllocator& allocator);

}  // namespace hocket
