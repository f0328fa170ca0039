// Reads weights and tokens, and prints what a model makes of them: the logits of the first batch,
// and the loss of each step of training by AdamW, carried out by the interpreter.
//
//   model_curve MODEL WEIGHTS TOKENS STEPS RATE OPTION=VALUE…

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/graph/derivative.h"
#include "core/graph/graph_builder.h"
#include "core/graph/interpreter/interpreter.h"
#include "models/data/token_source.h"
#include "models/models.h"
#include "models/weights/hugging_face.h"

namespace hocket {
namespace {

constexpr std::uint64_t kSeed = 5;
constexpr double kBeta2 = 0.95, kWeightDecay = 0.1;

struct CurveRun {
  std::string model, weights, tokens;
  std::int64_t steps = 0;
  double rate = 0;
  OptionValues options;
};

std::vector<std::string> parameters_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Operation& operation : graph.operations())
    if (operation.kind == OperationKind::parameter) names.push_back(operation.name);
  return names;
}

/// Returns the graph of a step: that of the derivative, with "new/NAME", "first/NAME" and
/// "second/NAME" for each parameter.
Result<Graph> with_updates(const Graph& graph) {
  auto derived = differentiate(graph);
  HOCKET_TRY(derived);
  const std::vector<std::string> names = parameters_of(graph);
  GraphBuilder step(std::move(*derived));
  const Value rate = step.input("rate", {NumberType::float32, {}});
  const Value number = step.input("step", {NumberType::int32, {}});
  for (const std::string& name : names) {
    const Value parameter = step.value(*step.graph().leaf(name));
    const Value gradient = step.value(*step.graph().output(gradient_name(name)));
    const Value first = step.input("first/" + name, parameter.type());
    const Value second = step.input("second/" + name, parameter.type());
    const auto updated =
        step.add_all(OperationKind::adamw, {parameter, gradient, first, second, rate, number},
                     {{"beta2", kBeta2}, {"weight_decay", kWeightDecay}});
    step.output("new/" + name, updated[0]);
    step.output("new/first/" + name, updated[1]);
    step.output("new/second/" + name, updated[2]);
  }
  return step.build();
}

Result<Leaves> first_leaves(const CurveRun& run, const Graph& graph) {
  const auto files = WeightFiles::open(run.weights);
  HOCKET_TRY(files);
  Leaves leaves;
  for (const std::string& name : parameters_of(graph)) {
    const ValueType type = graph.type(*graph.leaf(name));
    std::vector<float> numbers(static_cast<std::size_t>(type.count()));
    HOCKET_TRY(read_hugging_face(*files, {run.model, name, type.shape}, 0, numbers));
    const std::vector<double> zeros(numbers.size());
    leaves[name] = {type, {numbers.begin(), numbers.end()}};
    leaves["first/" + name] = leaves["second/" + name] = {type, zeros};
  }
  leaves["rate"] = {{NumberType::float32, {}}, {run.rate}};
  return leaves;
}

Result<void> draw_batch(const CurveRun& run, const TokenSource& source, std::int64_t step,
                        const Graph& graph, Leaves& leaves) {
  const ValueType type = graph.type(*graph.leaf("tokens"));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(type.count())), targets(tokens.size());
  const auto vocabulary = static_cast<std::int64_t>(run.options.at("vocabulary"));
  HOCKET_TRY(source.check_window(type.shape[1]));
  HOCKET_TRY(
      source.draw({.seed = kSeed, .step = step}, type.shape[1], vocabulary, tokens, targets));
  leaves["tokens"] = {type, {tokens.begin(), tokens.end()}};
  leaves["targets"] = {type, {targets.begin(), targets.end()}};
  leaves["step"] = {{NumberType::int32, {}}, {static_cast<double>(step + 1)}};
  return {};
}

Result<void> print_curve(const CurveRun& run) {
  const auto model = find_model(run.model);
  HOCKET_TRY(model);
  const auto graph = (*model)->build(run.options);
  HOCKET_TRY(graph);
  const auto step_graph = with_updates(*graph);
  HOCKET_TRY(step_graph);
  auto leaves = first_leaves(run, *graph);
  HOCKET_TRY(leaves);
  const auto source = TokenSource::open(run.tokens);
  HOCKET_TRY(source);
  for (std::int64_t step = 0; step < run.steps; ++step) {
    HOCKET_TRY(draw_batch(run, *source, step, *graph, *leaves));
    auto results = interpret(*step_graph, *leaves);
    HOCKET_TRY(results);
    for (std::size_t i = 0; i < results->size(); ++i) {
      const std::string& name = step_graph->outputs()[i].name;
      Numbers& numbers = (*results)[i];
      if (name == "loss" || (name == "logits" && step == 0)) {
        std::printf("%s", name.c_str());
        for (const double number : numbers.values) std::printf(" %.17g", number);
        std::printf("\n");
      } else if (name.starts_with("new/")) {
        (*leaves)[name.substr(4)] = std::move(numbers);
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace hocket

int main(int count, char** words) {
  constexpr int kFirstOption = 6;
  if (count < kFirstOption) {
    std::cerr << "model_curve MODEL WEIGHTS TOKENS STEPS RATE OPTION=VALUE…\n";
    return 2;
  }
  hocket::CurveRun run{words[1], words[2], words[3], std::atoll(words[4]), std::atof(words[5]), {}};
  for (int i = kFirstOption; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t equals = word.find('=');
    run.options[word.substr(0, equals)] = std::atof(word.substr(equals + 1).c_str());
  }
  const auto done = hocket::print_curve(run);
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
