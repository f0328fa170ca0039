#pragma once

// Computes the memory that training takes on a backend, before it is allocated. Pure, except that
// the backend may prepare for the shapes it is asked about.

#include <cstdint>

#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/config.h"

namespace hocket {

/// Returns the bytes of a batch's activations and their gradients. `config` must be valid.
std::int64_t activation_bytes(const Gpt2Config& config, BufferAllocator& allocator);

/// Returns the bytes of each micro-batch that is kept.
std::int64_t micro_batch_bytes(const Gpt2Config& config, const TrainingOptions& options,
                               BufferAllocator& allocator);

/// Returns approximately the bytes that training the model takes of the allocator's limit. `config`
/// and `options` must be valid.
std::int64_t memory_bytes(const Gpt2Config& config, const TrainingOptions& options,
                          BufferAllocator& allocator);

}  // namespace hocket
