#include "models/gpt2.h"

#include <cmath>
#include <optional>

#include "models/layers.h"

namespace hocket {
namespace {

/// Drops numbers of one place after the other; each place has a stream of its own.
class Gpt2Dropout {
 public:
  Gpt2Dropout(GraphBuilder& model, double rate) : rate_(rate) {
    if (rate > 0) key_ = model.input("key", {NumberType::int32, {2}});
  }
  Value operator()(Value x) { return key_ ? dropout(x, *key_, rate_, stream_++) : x; }

 private:
  const double rate_;
  std::optional<Value> key_;
  std::int64_t stream_ = 0;
};

Value gpt2_norm(Value x) {
  const Value gain = x.builder().parameter("norm.weight", {x.size(-1)});
  const Value bias = x.builder().parameter("norm.bias", {x.size(-1)});
  return layer_norm(x, gain, bias);
}

Value gpt2_attention(Value x, std::int64_t heads) {
  const std::int64_t width = x.size(-1);
  const Value all = dense(gpt2_norm(x), "qkv", 3 * width);
  const Value queries = split_heads(slice(all, -1, 0, width), heads);
  const Value keys = split_heads(slice(all, -1, width, 2 * width), heads);
  const Value values = split_heads(slice(all, -1, 2 * width, 3 * width), heads);
  const Value seen = attention(queries, keys, values, {.causal = true});
  return dense(merge_heads(seen), "out", width);
}

Value gpt2_mlp(Value x) {
  const Value hidden = gelu(dense(gpt2_norm(x), "up", 4 * x.size(-1)));
  return dense(hidden, "down", x.size(-1));
}

}  // namespace

std::span<const OptionRow<Gpt2Options>> gpt2_options() {
  using Options = Gpt2Options;
  static constexpr OptionRow<Options> kRows[] = {
      {"layers", &Options::layers, 1, 10'000, "blocks of attention and perceptron"},
      {"heads", &Options::heads, 1, 1 << 16, "heads of attention"},
      {"width", &Options::width, 1, 1 << 20, "numbers of a token; a multiple of heads"},
      {"vocabulary", &Options::vocabulary, 2, 1 << 24, "tokens that there are"},
      {"positions", &Options::positions, 1, 1 << 24, "positions that have an embedding"},
      {"sequence", &Options::sequence, 1, 1 << 24, "tokens of a sequence; at most positions"},
      {"batch", &Options::batch, 1, 1 << 20, "sequences of a step"},
      {"dropout", &Options::dropout, 0, 0.99, "share of numbers that are dropped"}};
  return kRows;
}

std::span<const Preset<Gpt2Options>> gpt2_presets() {
  static constexpr Preset<Gpt2Options> kPresets[] = {
      {"124m", {}},
      {"medium", {.layers = 24, .heads = 16, .width = 1024}},
      {"large", {.layers = 36, .heads = 20, .width = 1280}},
      {"xl", {.layers = 48, .heads = 25, .width = 1600}}};
  return kPresets;
}

Result<Graph> gpt2(const Gpt2Options& options) {
  HOCKET_TRY(check_options(gpt2_options(), options));
  HOCKET_TRY(check_multiple("width", options.width, "heads", options.heads));
  if (options.sequence > options.positions)
    return invalid("sequence: " + std::to_string(options.sequence) + " tokens are more than the " +
                   std::to_string(options.positions) + " positions; give as many positions");
  GraphBuilder model;
  const TokenInputs in = token_inputs(model, options.batch, options.sequence);
  Gpt2Dropout drop(model, options.dropout);
  const Value table = in_region(model, "embedding", [&] {
    return model.parameter("tokens", {options.vocabulary, options.width});
  });
  Value x = in_region(model, "embedding", [&] {
    const Value all = model.parameter("positions", {options.positions, options.width});
    const Value found = embedding(table, in.tokens);
    const Value positions = slice(all, 0, 0, options.sequence);
    return drop(found + positions);
  });
  for (std::int64_t i = 0; i < options.layers; ++i) {
    x = in_region(model, block_name(i) + ".attention", [&] {
      const Value seen = gpt2_attention(x, options.heads);
      return x + drop(seen);
    });
    x = in_region(model, block_name(i) + ".mlp", [&] {
      const Value thought = gpt2_mlp(x);
      return x + drop(thought);
    });
  }
  const Value logits =
      in_region(model, "head", [&] { return matmul(gpt2_norm(x), table, {.b = true}); });
  const Value loss = in_region(model, "loss", [&] { return mean_loss(logits, in.targets); });
  model.output("loss", loss);
  model.output("logits", logits);
  return model.build();
}

Distribution gpt2_initial(const Gpt2Options& options, std::string_view name, const Shape&) {
  constexpr double kDeviation = 0.02;
  if (name.ends_with("norm.weight")) return {DistributionKind::ones};
  if (name.ends_with(".bias")) return {};
  const bool is_added = name.ends_with(".out.weight") || name.ends_with(".down.weight");
  const double blocks = is_added ? 2.0 * static_cast<double>(options.layers) : 1;
  return normal(kDeviation / std::sqrt(blocks));
}

}  // namespace hocket
