#include "models/models.h"

#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "models/gpt2.h"
#include "models/llama.h"
#include "models/mixture.h"
#include "models/mlp.h"

namespace hocket {
namespace {

constexpr std::size_t kShownModelBytes = 60;

std::string quoted_name(std::string_view name) {
  return "\"" + printable(name, kShownModelBytes) + "\"";
}

/// Returns the error for a name that is not one of `known`.
tl::unexpected<Error> no_such(const std::string& what, std::string_view name,
                              const std::vector<std::string_view>& known) {
  std::string all;
  for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
  return invalid("there is no " + what + " " + quoted_name(name) + did_you_mean(name, known) +
                 (all.empty() ? "" : "; there are " + all));
}

template <class Named>
std::vector<std::string_view> names_in(const Named& all) {
  std::vector<std::string_view> names;
  for (const auto& each : all) names.push_back(each.name);
  return names;
}

template <class Options>
Result<Options> options_of(std::span<const OptionRow<Options>> rows, const OptionValues& values) {
  Options options;
  for (const auto& [name, value] : values) {
    const OptionRow<Options>* found = nullptr;
    for (const auto& row : rows)
      if (row.name == name) found = &row;
    if (found == nullptr) return no_such("option", name, names_in(rows));
    HOCKET_TRY(check_option(*found, value));
    found->set(options, value);
  }
  return options;
}

/// Functions and tables of a model whose options are `Options`.
template <class Options>
struct ModelSource {
  std::string_view name, about;
  std::span<const OptionRow<Options>> rows;
  std::span<const Preset<Options>> presets;
  Result<Graph> (*build)(const Options&);
  Distribution (*initial)(const Options&, std::string_view, const Shape&);
};

template <class Options>
Model model_of(const ModelSource<Options>& source) {
  Model model;
  model.name = source.name;
  model.about = source.about;
  static const Options kDefaults;
  for (const auto& row : source.rows)
    model.options.push_back(
        {row.name, row.about, row.of(kDefaults), row.low, row.high, row.is_whole()});
  for (const auto& preset : source.presets) {
    ModelPreset& added = model.presets.emplace_back(ModelPreset{preset.name, {}});
    for (const auto& row : source.rows) added.values.emplace(row.name, row.of(preset.options));
  }
  model.build = [source](const OptionValues& values) -> Result<Graph> {
    const auto options = options_of(source.rows, values);
    HOCKET_TRY(options);
    return source.build(*options);
  };
  model.initial = [source](const OptionValues& values, std::string_view name, const Shape& shape) {
    const auto options = options_of(source.rows, values);
    return source.initial(options.value_or(Options{}), name, shape);
  };
  return model;
}

std::vector<Model> all_models() {
  return {
      model_of<Gpt2Options>({"gpt2", "GPT-2: a transformer with learned positions and LayerNorm",
                             gpt2_options(), gpt2_presets(), gpt2, gpt2_initial}),
      model_of<LlamaOptions>({"llama",
                              "Llama 3: rotary positions, grouped attention, RMSNorm and SwiGLU",
                              llama_options(), llama_presets(), llama, llama_initial}),
      model_of<MixtureOptions>(
          {"mixture", "a mixture of experts as Mixtral: a router sends tokens to some of them",
           mixture_options(), mixture_presets(), mixture, mixture_initial}),
      model_of<MlpOptions>(
          {"mlp", "a perceptron of several layers", mlp_options(), {}, mlp, mlp_initial})};
}

}  // namespace

std::span<const Model> models() {
  static const std::vector<Model> kModels = all_models();
  return kModels;
}

Result<const Model*> find_model(std::string_view name) {
  for (const Model& model : models())
    if (model.name == name) return &model;
  return no_such("model", name, names_in(models()));
}

Result<const ModelPreset*> find_preset(const Model& model, std::string_view name) {
  for (const ModelPreset& preset : model.presets)
    if (preset.name == name) return &preset;
  return no_such("preset", name, names_in(model.presets));
}

}  // namespace hocket
