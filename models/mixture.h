#pragma once

// A mixture of experts as maths: Mixtral (Jiang et al., 2024), whose blocks are Llama's with a
// router and experts in place of the perceptron, with the limited capacity of experts and the
// balancing loss of Switch Transformers (Fedus et al., 2021, section 2.2). Pure; any thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/initial.h"
#include "models/option.h"

namespace hocket {

struct MixtureOptions {
  std::int64_t layers = 32, heads = 32, groups = 8, width = 4096, hidden = 14336;
  std::int64_t experts = 8, choices = 2;
  std::int64_t vocabulary = 32000, sequence = 4096, batch = 1;
  double capacity = 1.25, balance = 0.01, rotary_base = 1e6, epsilon = 1e-5;
};
std::span<const OptionRow<MixtureOptions>> mixture_options();
std::span<const Preset<MixtureOptions>> mixture_presets();

/// Returns the slots that each expert has: those of evenly divided choices, times the option
/// `capacity`, rounded up, and at most one for each token. With experts / choices nothing is ever
/// dropped.
std::int64_t expert_slots(const MixtureOptions& options);

/// Returns the model of inputs "tokens" and "targets": int32 [batch, sequence]. Its outputs are
/// "loss", "logits" [batch, sequence, vocabulary], and "balance", the sum over the layers of
/// experts · Σ (share of choices · mean probability), which is 1 a layer where all are even. The
/// loss is the mean over all tokens, and the option `balance` times this sum. What finds no slot
/// at an expert is left out of it. invalid_argument for options out of range.
Result<Graph> mixture(const MixtureOptions& options = {});

/// Normal with deviation 0.02, as Hugging Face's transformers have it.
Distribution mixture_initial(const MixtureOptions& options, std::string_view name,
                             const Shape& shape);

}  // namespace hocket
