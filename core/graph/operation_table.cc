#include <array>
#include <limits>

#include "core/base/check.h"
#include "core/graph/operation.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using Declaration = OperationDeclaration;
using Attribute = AttributeDeclaration;

constexpr double kAny = std::numeric_limits<double>::max();
constexpr double kMostSize = static_cast<double>(kMostNumbers);

Attribute dimension(std::string_view name = "dimension") {
  return {name, std::int64_t{0}, true, -8, 7};
}
Attribute size(std::string_view name, double low = 1) {
  return {name, std::int64_t{0}, true, low, kMostSize};
}
Attribute epsilon(double value) {
  return {"epsilon", value, false, 0, 1};
}
Attribute share(std::string_view name, double value) {
  return {name, value, false, 0, 1};
}
Attribute gradient_scale() {
  return {"gradient_scale", 1.0, false, -kAny, kAny};
}
Attribute off(std::string_view name) {
  return {name, false};
}
Attribute activation(std::string_view name) {
  return {name, "none", false, 0, 0, {"none", "relu", "gelu", "silu"}};
}
Attribute sizes(std::string_view name, double low = 1, double high = kMostSize) {
  return {name, std::vector<std::int64_t>(), true, low, high};
}
Attribute dropout_stream() {
  return {"stream", std::int64_t{0}, true, 0, 0xffffffff};
}
/// The first index of a part that a rank has of a larger value; -1: it has the whole.
Attribute begin_of_part() {
  return {"begin", std::int64_t{-1}, false, -1, kMostSize};
}
Attribute attention_scale() {
  return {"scale", 0.0, false, 0, kAny};
}

Declaration unary(Kind kind, std::string_view name, std::vector<Attribute> attributes = {}) {
  return {kind, name, {"x"}, false, {"y"}, std::move(attributes)};
}
Declaration binary(Kind kind, std::string_view name) {
  return {kind, name, {"a", "b"}, false, {"y"}, {}};
}
Declaration communication(Kind kind, std::string_view name) {
  return unary(kind, name, {{"group", std::string(), true}, size("ranks")});
}
Declaration gradient(Kind kind, std::string_view name) {
  return {kind, name, {"x", "dy"}, false, {"dx"}, {}};
}

/// By kind.
const std::vector<Declaration>& table() {
  static const std::vector<Declaration> all = {
      {Kind::input, "input", {}, false, {"x"}, {}},
      {Kind::parameter, "parameter", {}, false, {"x"}, {}},
      {Kind::constant, "constant", {}, false, {"x"}, {{"value", 0.0, true, -kAny, kAny}}},

      binary(Kind::add, "add"),
      binary(Kind::subtract, "subtract"),
      binary(Kind::multiply, "multiply"),
      binary(Kind::divide, "divide"),
      unary(Kind::scale, "scale", {{"factor", 1.0, true, -kAny, kAny}}),
      unary(Kind::exponential, "exponential"),
      unary(Kind::logarithm, "logarithm"),
      unary(Kind::square_root, "square_root"),
      unary(Kind::reciprocal_square_root, "reciprocal_square_root"),
      unary(Kind::tanh, "tanh"),
      unary(Kind::sigmoid, "sigmoid"),
      unary(Kind::relu, "relu"),
      unary(Kind::gelu, "gelu"),
      unary(Kind::silu, "silu"),
      {Kind::swiglu, "swiglu", {"gate", "up"}, false, {"y"}, {}},
      gradient(Kind::relu_gradient, "relu_gradient"),
      gradient(Kind::gelu_gradient, "gelu_gradient"),
      gradient(Kind::silu_gradient, "silu_gradient"),
      {Kind::select, "select", {"condition", "a", "b"}, false, {"y"}, {}},
      unary(Kind::convert, "convert", {{"type", NumberType::float32, true}}),
      {Kind::dropout,
       "dropout",
       {"x", "key"},
       false,
       {"y"},
       {{"rate", 0.0, true, 0, 1},
        dropout_stream(),
        {"whole", std::vector<std::int64_t>(), false, 1, kMostSize},
        {"begins", std::vector<std::int64_t>(), false, 0, kMostSize}}},

      unary(Kind::sum, "sum", {sizes("dimensions", -8, 7), off("keep")}),
      unary(Kind::maximum, "maximum", {sizes("dimensions", -8, 7), off("keep")}),
      {Kind::maximum_gradient, "maximum_gradient", {"x", "y", "dy"}, false, {"dx"}, {}},
      unary(Kind::is_finite, "is_finite"),
      unary(Kind::reshape, "reshape", {sizes("shape")}),
      unary(Kind::transpose, "transpose", {sizes("order", -8, 7)}),
      unary(Kind::slice, "slice", {dimension(), size("begin", 0), size("end")}),
      unary(Kind::pad, "pad", {dimension(), size("before", 0), size("after", 0)}),
      {Kind::concatenate, "concatenate", {"x"}, true, {"y"}, {dimension()}},
      unary(Kind::broadcast, "broadcast", {sizes("shape")}),

      {Kind::matmul,
       "matmul",
       {"a", "b", {"bias", "bias"}, {"before", "gradient_of"}, {"residual", "residual"}},
       false,
       {"y", {"before", "keeps_before"}, {"sums", "sums_a"}},
       {off("transpose_a"), off("transpose_b"), off("bias"), activation("activation"),
        activation("gradient_of"), off("residual"), off("keeps_before"), off("sums_a"),
        off("widens")}},
      {Kind::layer_norm,
       "layer_norm",
       {"x", "gain", "bias"},
       false,
       {"y", "mean", "inverse_deviation"},
       {epsilon(1e-5)}},
      {Kind::layer_norm_gradient,
       "layer_norm_gradient",
       {"x", "gain", "mean", "inverse_deviation", "dy", {"residual", "residual"}},
       false,
       {"dx", "dgain", "dbias"},
       {off("residual")}},
      {Kind::rms_norm, "rms_norm", {"x", "gain"}, false, {"y", "inverse_rms"}, {epsilon(1e-5)}},
      {Kind::rms_norm_gradient,
       "rms_norm_gradient",
       {"x", "gain", "inverse_rms", "dy", {"residual", "residual"}},
       false,
       {"dx", "dgain"},
       {off("residual")}},
      unary(Kind::softmax, "softmax"),
      {Kind::softmax_gradient, "softmax_gradient", {"y", "dy"}, false, {"dx"}, {}},

      {Kind::attention,
       "attention",
       {"queries", "keys", "values"},
       false,
       {"y", "log_sums"},
       {off("causal"), attention_scale()}},
      {Kind::attention_gradient,
       "attention_gradient",
       {"queries", "keys", "values", "y", "log_sums", "dy"},
       false,
       {"dqueries", "dkeys", "dvalues"},
       {off("causal"), attention_scale()}},
      unary(Kind::rotary, "rotary",
            {{"base", 10000.0, false, 1, kAny},
             off("inverse"),
             {"begin", std::int64_t{0}, false, 0, kMostSize}}),

      {Kind::embedding, "embedding", {"table", "indices"}, false, {"y"}, {begin_of_part()}},
      {Kind::embedding_gradient,
       "embedding_gradient",
       {"indices", "dy"},
       false,
       {"dtable"},
       {size("rows"), begin_of_part()}},
      {Kind::cross_entropy,
       "cross_entropy",
       {"logits", "targets"},
       false,
       {"losses", "log_sums"},
       {}},
      {Kind::cross_entropy_gradient,
       "cross_entropy_gradient",
       {"logits", "targets", "log_sums", "dlosses"},
       false,
       {"dlogits"},
       {begin_of_part()}},
      {Kind::exponential_sum, "exponential_sum", {"x", "most"}, false, {"sums"}, {}},
      {Kind::pick, "pick", {"x", "indices"}, false, {"y"}, {begin_of_part()}},
      {Kind::top_k, "top_k", {"x"}, false, {"values", "indices"}, {size("count")}},
      {Kind::top_k_gradient,
       "top_k_gradient",
       {"indices", "dvalues"},
       false,
       {"dx"},
       {size("size")}},
      {Kind::dispatch,
       "dispatch",
       {"x", "experts"},
       false,
       {"slots", "places"},
       {size("expert_count"), size("capacity"), begin_of_part()}},
      {Kind::dispatch_gradient,
       "dispatch_gradient",
       {"experts", "places", "dslots"},
       false,
       {"dx"},
       {begin_of_part()}},
      {Kind::combine,
       "combine",
       {"slots", "experts", "places", "weights"},
       false,
       {"y"},
       {begin_of_part()}},
      {Kind::combine_gradient,
       "combine_gradient",
       {"slots", "experts", "places", "weights", "dy"},
       false,
       {"dslots", "dweights"},
       {begin_of_part()}},

      {Kind::adamw,
       "adamw",
       {"parameter", "gradient", "first_moment", "second_moment", "rate", "step"},
       false,
       {"parameter", "first_moment", "second_moment"},
       {share("beta1", 0.9), share("beta2", 0.999), epsilon(1e-8), share("weight_decay", 0),
        gradient_scale()}},
      {Kind::sgd,
       "sgd",
       {"parameter", "gradient", "velocity", "rate"},
       false,
       {"parameter", "velocity"},
       {share("momentum", 0), share("weight_decay", 0), gradient_scale()}},

      communication(Kind::all_reduce, "all_reduce"),
      communication(Kind::all_gather, "all_gather"),
      communication(Kind::reduce_scatter, "reduce_scatter"),
      communication(Kind::all_to_all, "all_to_all"),
  };
  return all;
}

}  // namespace

const OperationDeclaration& declaration_of(OperationKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  HOCKET_CHECK(index < table().size() && table()[index].kind == kind, "each kind has its row");
  return table()[index];
}

}  // namespace hocket
