#include "models/llama.h"

#include "models/layers.h"

namespace hocket {
namespace {

Value llama_mlp(Value x, const LlamaOptions& options) {
  const Value normed = scaled_norm(x, options.epsilon);
  const Value gate = dense_without_bias(normed, "gate", options.hidden);
  const Value up = dense_without_bias(normed, "up", options.hidden);
  return dense_without_bias(swiglu(gate, up), "down", options.width);
}

}  // namespace

std::span<const OptionRow<LlamaOptions>> llama_options() {
  using Options = LlamaOptions;
  static constexpr OptionRow<Options> kRows[] = {
      {"layers", &Options::layers, 1, 10'000, "blocks of attention and perceptron"},
      {"heads", &Options::heads, 1, 1 << 16, "heads of attention"},
      {"groups", &Options::groups, 1, 1 << 16, "groups of heads that share keys and values"},
      {"width", &Options::width, 2, 1 << 20, "numbers of a token; a multiple of twice the heads"},
      {"hidden", &Options::hidden, 1, 1 << 24, "numbers within a perceptron"},
      {"vocabulary", &Options::vocabulary, 2, 1 << 24, "tokens that there are"},
      {"sequence", &Options::sequence, 1, 1 << 24, "tokens of a sequence"},
      {"batch", &Options::batch, 1, 1 << 20, "sequences of a step"},
      {"rotary_base", &Options::rotary_base, 1, 1e12, "base of the rotations' frequencies"},
      {"epsilon", &Options::epsilon, 0, 1, "what RMSNorm adds to the mean of squares"}};
  return kRows;
}

std::span<const Preset<LlamaOptions>> llama_presets() {
  static constexpr Preset<LlamaOptions> kPresets[] = {
      {"8b", {}},
      {"70b", {.layers = 80, .heads = 64, .groups = 8, .width = 8192, .hidden = 28672}}};
  return kPresets;
}

Result<Graph> llama(const LlamaOptions& options) {
  HOCKET_TRY(check_options(llama_options(), options));
  HOCKET_TRY(check_heads(options.width, options.heads, options.groups));
  GraphBuilder model;
  const TokenInputs in = token_inputs(model, options.batch, options.sequence);
  Value x = in_region(model, "embedding", [&] {
    const Value table = model.parameter("tokens", {options.vocabulary, options.width});
    return embedding(table, in.tokens);
  });
  const GroupedAttention heads{options.heads, options.groups, options.rotary_base};
  for (std::int64_t i = 0; i < options.layers; ++i) {
    x = in_region(model, block_name(i) + ".attention",
                  [&] { return x + grouped_attention(scaled_norm(x, options.epsilon), heads); });
    x = in_region(model, block_name(i) + ".mlp", [&] { return x + llama_mlp(x, options); });
  }
  const Value logits = in_region(model, "head", [&] {
    return linear_without_bias(scaled_norm(x, options.epsilon), options.vocabulary);
  });
  const Value loss = in_region(model, "loss", [&] { return mean_loss(logits, in.targets); });
  model.output("loss", loss);
  model.output("logits", logits);
  return model.build();
}

Distribution llama_initial(const LlamaOptions&, std::string_view name, const Shape&) {
  constexpr double kDeviation = 0.02;
  if (name.ends_with("norm.weight")) return {DistributionKind::ones};
  return normal(kDeviation);
}

}  // namespace hocket
