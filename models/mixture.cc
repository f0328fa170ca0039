#include "models/mixture.h"

#include <algorithm>
#include <cmath>

#include "models/layers.h"

namespace hocket {
namespace {

/// Returns experts · Σ (share of choices · mean probability).
Value balance_of(Value probabilities, Value experts) {
  const std::int64_t rows = probabilities.size(0), count = probabilities.size(1);
  // A one for each row, dispatched where there is room for all, counts the choices of each expert.
  GraphBuilder& model = probabilities.builder();
  const Value ones = model.constant(1, {probabilities.type().numbers, {rows, 1}});
  const Value chosen = sum(dispatch(ones, experts, count, rows).slots, {1, 2});
  const Value probability = sum(probabilities, {0});
  const double all = static_cast<double>(rows), choices = static_cast<double>(experts.size(1));
  return sum(chosen * probability, {0}) * (static_cast<double>(count) / (all * choices * all));
}

/// The sum that the experts of a block add, and the measure of how even its choices are.
struct ExpertLayer {
  Value y, balance;
};

ExpertLayer expert_layer(Value x, const MixtureOptions& options) {
  GraphBuilder& model = x.builder();
  const Shape shape = x.shape();
  const std::int64_t count = options.experts, width = options.width, hidden = options.hidden;
  const Value normed = scaled_norm(x, options.epsilon);
  const Value rows = reshape(normed, {options.batch * options.sequence, width});
  const Value probabilities = softmax(dense_without_bias(rows, "router", count));
  const TopK best = top_k(probabilities, options.choices);
  const Value weights = best.values / sum(best.values, {1}, true);
  const Dispatched sent = dispatch(rows, best.indices, count, expert_slots(options));
  const Value gate =
      matmul(sent.slots, model.parameter("gate.weight", {count, hidden, width}), {.b = true});
  const Value up =
      matmul(sent.slots, model.parameter("up.weight", {count, hidden, width}), {.b = true});
  const Value inner = swiglu(gate, up);
  const Value outer =
      matmul(inner, model.parameter("down.weight", {count, width, hidden}), {.b = true});
  const Value y = reshape(combine(outer, best.indices, sent.places, weights), shape);
  return {y, balance_of(probabilities, best.indices)};
}

}  // namespace

std::span<const OptionRow<MixtureOptions>> mixture_options() {
  using Options = MixtureOptions;
  static constexpr OptionRow<Options> kRows[] = {
      {"layers", &Options::layers, 1, 10'000, "blocks of attention and experts"},
      {"heads", &Options::heads, 1, 1 << 16, "heads of attention"},
      {"groups", &Options::groups, 1, 1 << 16, "groups of heads that share keys and values"},
      {"width", &Options::width, 2, 1 << 20, "numbers of a token; a multiple of twice the heads"},
      {"hidden", &Options::hidden, 1, 1 << 24, "numbers within an expert"},
      {"experts", &Options::experts, 1, 1 << 16, "experts of a block"},
      {"choices", &Options::choices, 1, 1 << 10, "experts of a token; at most as many"},
      {"vocabulary", &Options::vocabulary, 2, 1 << 24, "tokens that there are"},
      {"sequence", &Options::sequence, 1, 1 << 24, "tokens of a sequence"},
      {"batch", &Options::batch, 1, 1 << 20, "sequences of a step"},
      {"capacity", &Options::capacity, 0.01, 1e5, "slots of an expert, per evenly divided choice"},
      {"balance", &Options::balance, 0, 1e3, "weight of the balancing loss"},
      {"rotary_base", &Options::rotary_base, 1, 1e12, "base of the rotations' frequencies"},
      {"epsilon", &Options::epsilon, 0, 1, "what RMSNorm adds to the mean of squares"}};
  return kRows;
}

std::span<const Preset<MixtureOptions>> mixture_presets() {
  static constexpr Preset<MixtureOptions> kPresets[] = {{"8x7b", {}}};
  return kPresets;
}

std::int64_t expert_slots(const MixtureOptions& options) {
  const double rows = static_cast<double>(options.batch * options.sequence);
  const double even = rows * static_cast<double>(options.choices);
  const double slots = std::ceil(options.capacity * even / static_cast<double>(options.experts));
  return static_cast<std::int64_t>(std::clamp(slots, 1.0, rows));
}

Result<Graph> mixture(const MixtureOptions& options) {
  HOCKET_TRY(check_options(mixture_options(), options));
  HOCKET_TRY(check_heads(options.width, options.heads, options.groups));
  if (options.choices > options.experts)
    return invalid("choices: " + std::to_string(options.choices) + " are more than the " +
                   std::to_string(options.experts) + " experts");
  GraphBuilder model;
  const TokenInputs in = token_inputs(model, options.batch, options.sequence);
  Value x = in_region(model, "embedding", [&] {
    const Value table = model.parameter("tokens", {options.vocabulary, options.width});
    return embedding(table, in.tokens);
  });
  const GroupedAttention heads{options.heads, options.groups, options.rotary_base};
  std::vector<Value> balances;
  for (std::int64_t i = 0; i < options.layers; ++i) {
    x = in_region(model, block_name(i) + ".attention",
                  [&] { return x + grouped_attention(scaled_norm(x, options.epsilon), heads); });
    x = in_region(model, block_name(i) + ".mlp", [&] {
      const ExpertLayer layer = expert_layer(x, options);
      balances.push_back(layer.balance);
      return x + layer.y;
    });
  }
  const Value logits = in_region(model, "head", [&] {
    return linear_without_bias(scaled_norm(x, options.epsilon), options.vocabulary);
  });
  const auto region = model.region("loss");
  const Value tokens_loss = mean_loss(logits, in.targets);
  Value balance = balances[0];
  for (std::size_t i = 1; i < balances.size(); ++i) balance = balance + balances[i];
  model.output("loss", tokens_loss + balance * options.balance);
  model.output("logits", logits);
  model.output("balance", balance);
  return model.build();
}

Distribution mixture_initial(const MixtureOptions&, std::string_view name, const Shape&) {
  constexpr double kDeviation = 0.02;
  if (name.ends_with("norm.weight")) return {DistributionKind::ones};
  return normal(kDeviation);
}

}  // namespace hocket
