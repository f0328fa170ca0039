#include "cli/verbs/graphs/pass_flags.h"

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownWordBytes = 40;

Result<OptimiserMethod> parse_method(const std::string& text) {
  if (text == "none") return OptimiserMethod::none;
  if (text == "adamw") return OptimiserMethod::adamw;
  if (text == "sgd") return OptimiserMethod::sgd;
  return failure(ErrorCode::invalid_argument,
                 "expected none, adamw or sgd, found \"" + printable(text, kShownWordBytes) + "\"");
}

}  // namespace

Result<PassOptions> PassFlags::read() const {
  PassOptions all = options;
  const auto type = parse_number_type(precision);
  if (!type) return failure(type.error().in("--precision"));
  all.precision.computes = *type;
  const auto method = parse_method(optimiser);
  if (!method) return failure(method.error().in("--optimiser"));
  all.optimiser.method = *method;
  for (const std::string& word : kept_kinds) {
    const auto kind = parse_operation_kind(word);
    if (!kind) return failure(kind.error().in("--keep"));
    all.recomputation.kept_kinds.push_back(*kind);
  }
  return all;
}

void add_pass_flags(CLI::App& verb, const std::shared_ptr<PassFlags>& flags, CLI::Option& after) {
  PassOptions& options = flags->options;
  const auto add = [&](const char* name, auto& value, const char* about) {
    // Without the pass it would say nothing.
    return verb.add_option(name, value, about)->needs(&after)->allow_extra_args(false);
  };
  add("--output", options.needed.outputs,
      "needed: only these outputs, and what they need, such as loss");
  add("--precision", flags->precision,
      "precision: float32, bfloat16 or float16 for products and what surrounds them")
      ->capture_default_str();
  add("--wide", options.precision.wide_regions,
      "precision: these regions stay float32, such as 'block*.router'");
  add("--recompute", options.recomputation.regions,
      "recomputation: regions whose values the derivative computes again, such as "
      "'block*'");
  add("--keep", flags->kept_kinds,
      "recomputation: results of these operations are kept, such as matmul");
  add("--micro-batches", options.micro_batches.count,
      "micro_batches: how often the step is repeated")
      ->capture_default_str();
  add("--optimiser", flags->optimiser, "optimiser: none, adamw or sgd")->capture_default_str();
  add("--weight-decay", options.optimiser.weight_decay,
      "optimiser: of parameters with at least two dimensions")
      ->capture_default_str();
  add("--clip-norm", options.optimiser.clip_norm,
      "optimiser: most that the norm of all gradients may be; 0: any")
      ->capture_default_str();
}

}  // namespace hocket
