#pragma once

// GPT-2 (Radford et al., 2019) as maths, with the names and the initial values of its published
// sizes. Dropout is that of the embedding and of what blocks add; probabilities of attention have
// none. Pure; any thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/initial.h"
#include "models/option.h"

namespace hocket {

struct Gpt2Options {
  std::int64_t layers = 12, heads = 12, width = 768;
  std::int64_t vocabulary = 50257, positions = 1024, sequence = 1024, batch = 8;
  double dropout = 0;
};
std::span<const OptionRow<Gpt2Options>> gpt2_options();
std::span<const Preset<Gpt2Options>> gpt2_presets();

/// Returns the model of inputs "tokens" and "targets": int32 [batch, sequence], and with dropout
/// "key": int32 [2], another one for each step. Its outputs are "loss", the mean over all tokens,
/// and "logits" [batch, sequence, vocabulary]; the head has the weights of the embedding.
/// invalid_argument for options out of range.
Result<Graph> gpt2(const Gpt2Options& options = {});

/// Normal with deviation 0.02, and 0.02 / √(2 · layers) for what is added to the residual stream.
Distribution gpt2_initial(const Gpt2Options& options, std::string_view name, const Shape& shape);

}  // namespace hocket
