#pragma once

// Llama 3 (Grattafiori et al., 2024) as maths: RMSNorm, rotary positions, groups of heads that
// share keys and values, SwiGLU, and a head of its own. The longer contexts of Llama 3.1 scale the
// rotations, which this does not. Pure; any thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/initial.h"
#include "models/option.h"

namespace hocket {

struct LlamaOptions {
  std::int64_t layers = 32, heads = 32, groups = 8, width = 4096, hidden = 14336;
  std::int64_t vocabulary = 128256, sequence = 8192, batch = 1;
  double rotary_base = 500000, epsilon = 1e-5;
};
std::span<const OptionRow<LlamaOptions>> llama_options();
std::span<const Preset<LlamaOptions>> llama_presets();

/// Returns the model of inputs "tokens" and "targets": int32 [batch, sequence], with outputs
/// "loss", the mean over all tokens, and "logits" [batch, sequence, vocabulary]. invalid_argument
/// for options out of range.
Result<Graph> llama(const LlamaOptions& options = {});

/// Normal with deviation 0.02, as Hugging Face's transformers have it.
Distribution llama_initial(const LlamaOptions& options, std::string_view name, const Shape& shape);

}  // namespace hocket
