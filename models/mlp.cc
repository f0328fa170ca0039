#include "models/mlp.h"

#include <cmath>
#include <string>

#include "core/graph/graph_builder.h"
#include "core/graph/maths.h"

namespace hocket {

std::span<const OptionRow<MlpOptions>> mlp_options() {
  static constexpr OptionRow<MlpOptions> kRows[] = {
      {"layers", &MlpOptions::layers, 0, 10'000, "hidden layers"},
      {"width", &MlpOptions::width, 1, 1 << 20, "numbers of a hidden layer"},
      {"inputs", &MlpOptions::inputs, 1, 1 << 24, "numbers of an example"},
      {"classes", &MlpOptions::classes, 2, 1 << 20, "classes of examples"},
      {"batch", &MlpOptions::batch, 1, 1 << 20, "examples of a step"}};
  return kRows;
}

Result<Graph> mlp(const MlpOptions& options) {
  HOCKET_TRY(check_options(mlp_options(), options));
  GraphBuilder model;
  Value x = model.input("x", {NumberType::float32, {options.batch, options.inputs}});
  const Value targets = model.input("targets", {NumberType::int32, {options.batch}});
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const auto region = model.region("layer" + std::to_string(i));
    x = relu(linear(x, options.width));
  }
  const auto region = model.region("head");
  const Value logits = linear(x, options.classes);
  const auto loss_region = model.at("loss");
  const Value loss = mean(cross_entropy(logits, targets));
  model.output("loss", loss);
  model.output("logits", logits);
  return model.build();
}

Distribution mlp_initial(const MlpOptions&, std::string_view name, const Shape& shape) {
  if (name.ends_with(".bias")) return {};
  return normal(std::sqrt(2.0 / static_cast<double>(shape.back())));
}

}  // namespace hocket
