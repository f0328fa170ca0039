#include "cli/verbs/graphs/model.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "cli/output/table.h"
#include "core/graph/graph_text.h"
#include "models/models.h"
#include "models/option.h"

namespace hocket {
namespace {

/// Returns "--rotary-base".
std::string option_name(const ModelOption& option) {
  std::string name = "--" + std::string(option.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string presets_text(const Model& model) {
  std::string text;
  for (const ModelPreset& preset : model.presets)
    text += (text.empty() ? "" : ", ") + std::string(preset.name);
  return text;
}

Result<int> list_models(VerbContext& context) {
  TextTable names({"model", "presets", "about"});
  TextTable options({"model", "option", "default", "from", "to", "meaning"});
  for (const Model& model : models()) {
    names.add({std::string(model.name), model.presets.empty() ? "-" : presets_text(model),
               std::string(model.about)});
    for (const ModelOption& option : model.options) {
      options.add({std::string(model.name), option_name(option), option_text(option.value),
                   option_text(option.low), option_text(option.high), std::string(option.about)});
    }
  }
  names.print(context.out);
  context.out << '\n';
  options.print(context.out);
  return kDone;
}

struct ModelChoice {
  std::string preset;
  std::map<std::string, std::optional<double>> values;  ///< those that were given
};

Result<int> print_model(const Model& model, const ModelChoice& choice, VerbContext& context) {
  OptionValues values;
  if (!choice.preset.empty()) {
    const auto preset = find_preset(model, choice.preset);
    HOCKET_TRY(preset);
    values = (*preset)->values;
  }
  for (const auto& [name, value] : choice.values)
    if (value) values[name] = *value;
  const auto graph = model.build(values);
  HOCKET_TRY(graph);
  context.out << to_text(*graph);
  return kDone;
}

void add_one_model(const Model& model, CLI::App& verb, VerbAction& action) {
  auto choice = std::make_shared<ModelChoice>();
  auto* one = verb.add_subcommand(std::string(model.name), std::string(model.about));
  if (!model.presets.empty())
    one->add_option("--preset", choice->preset, "a published size: " + presets_text(model));
  for (const ModelOption& option : model.options) {
    one->add_option(option_name(option), choice->values[std::string(option.name)],
                    std::string(option.about) + " (" + option_text(option.value) + ")");
  }
  one->footer(
      "Options that are given change those of the preset.\nExample:\n  hocket graph model " +
      std::string(model.name) + " --batch 1 > " + std::string(model.name) + ".graph\n");
  one->callback([&model, choice, &action] {
    action = [&model, choice](VerbContext& c) { return print_model(model, *choice, c); };
  });
}

}  // namespace

void add_graph_model(CLI::App& graph, VerbAction& action) {
  auto* verb = graph.add_subcommand("model", "print the graph of a model, or list the models");
  verb->require_subcommand(0, 1);
  verb->footer(
      "Examples:\n  hocket graph model\n"
      "  hocket graph model llama --preset 8b --sequence 2048 > llama.graph\n"
      "  hocket graph model gpt2 --layers 2 | hocket graph show /dev/stdin --regions\n");
  for (const Model& model : models()) add_one_model(model, *verb, action);
  verb->callback([verb, &action] {
    // CLI11 calls this after the callback of a model's verb.
    if (!verb->get_subcommands().empty()) return;
    action = [](VerbContext& c) { return list_models(c); };
  });
}

}  // namespace hocket
