// Writes graphs with random numbers for their inputs and parameters, and what the interpreter makes
// of them in double precision: their outputs, and the gradients of "loss" by all floating-point
// inputs and parameters.
//
//   autograd_graphs FOLDER SEED…
//
// For each graph it writes NAME.graph, the text form, and NAME.numbers, with the lines
// "leaf NAME NUMBER…" and "output NAME NUMBER…", and prints "graph NAME". For each kind of
// operations that has a derivative it prints "kind NAME".

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/derivative.h"
#include "core/graph/graph_text.h"
#include "core/graph/interpreter/interpreter.h"
#include "models/gpt2.h"
#include "models/llama.h"
#include "models/mixture.h"
#include "models/mlp.h"
#include "tests/core/graph/derivative_samples.h"
#include "tests/core/graph/random_graph.h"

namespace hocket {
namespace {

constexpr int kRandomGraphs = 10;
constexpr std::uint64_t kMostRandomOperations = 30;
/// Deviation of a model's weights, so that its parts are far from linear.
constexpr double kWeightDeviation = 0.4;
/// Tokens, targets and classes of these models are below.
constexpr std::int64_t kVocabulary = 11;

std::vector<std::pair<std::string, Result<Graph>>> small_models() {
  Gpt2Options options{.layers = 2,
                      .heads = 2,
                      .width = 8,
                      .vocabulary = kVocabulary,
                      .positions = 6,
                      .sequence = 5,
                      .batch = 2};
  const Result<Graph> plain = gpt2(options);
  options.dropout = 0.3;
  return {{"gpt2", plain},
          {"gpt2_dropout", gpt2(options)},
          {"llama", llama({.layers = 2,
                           .heads = 4,
                           .groups = 2,
                           .width = 16,
                           .hidden = 12,
                           .vocabulary = kVocabulary,
                           .sequence = 5,
                           .batch = 2})},
          {"mixture", mixture({.layers = 2,
                               .heads = 4,
                               .groups = 2,
                               .width = 16,
                               .hidden = 12,
                               .experts = 4,
                               .choices = 2,
                               .vocabulary = kVocabulary,
                               .sequence = 5,
                               .batch = 2})},
          {"mlp", mlp({.layers = 2, .width = 8, .inputs = 7, .classes = kVocabulary, .batch = 4})}};
}

void write_numbers(std::ostream& out, const std::string& what, const Numbers& numbers) {
  out << what;
  for (const double number : numbers.values) out << ' ' << number;
  out << '\n';
}

class GraphWriter {
 public:
  explicit GraphWriter(std::string folder) : folder_(std::move(folder)) {}

  Result<void> write(const std::string& name, const Graph& graph, const Leaves& leaves) const {
    DerivativeOptions options;
    for (const auto& [leaf, numbers] : leaves)
      if (is_floating(numbers.type.numbers)) options.by.push_back(leaf);
    const auto derived = differentiate(graph, options);
    HOCKET_TRY(derived);
    const auto values = interpret(*derived, leaves);
    HOCKET_TRY(values);
    std::ofstream text(folder_ + "/" + name + ".graph");
    text << to_text(graph);
    std::ofstream numbers(folder_ + "/" + name + ".numbers");
    numbers.precision(std::numeric_limits<double>::max_digits10);
    for (const auto& [leaf, each] : leaves) write_numbers(numbers, "leaf " + leaf, each);
    for (std::size_t i = 0; i < values->size(); ++i)
      write_numbers(numbers, "output " + derived->outputs()[i].name, (*values)[i]);
    text.close();
    numbers.close();
    if (!text || !numbers)
      return failure(ErrorCode::unavailable, "cannot write " + folder_ + "/" + name);
    std::cout << "graph " << name << '\n';
    return {};
  }

 private:
  const std::string folder_;
};

Result<void> write_samples(const GraphWriter& writer, const std::string& prefix,
                           std::mt19937_64& random) {
  int number = 0;
  for (const DerivativeSample& sample : derivative_samples()) {
    const auto graph = graph_of(sample);
    HOCKET_TRY(graph);
    for (const bool is_whole : {false, true}) {
      const std::string name = prefix + std::to_string(number) + "_" +
                               std::string(to_string(*sample.kinds.begin())) +
                               (is_whole ? "_whole" : "");
      const LeafNumbers kind{.most = sample.most, .is_whole = is_whole};
      HOCKET_TRY(writer.write(name, *graph, random_leaves(*graph, kind, random)));
    }
    ++number;
  }
  return {};
}

Result<void> write_seed(const GraphWriter& writer, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string prefix = std::to_string(seed) + ".";
  HOCKET_TRY(write_samples(writer, prefix, random));
  for (int i = 0; i < kRandomGraphs; ++i) {
    const auto operations = static_cast<int>(1 + random() % kMostRandomOperations);
    const Graph graph = random_graph(operations, random);
    HOCKET_TRY(writer.write(prefix + "random" + std::to_string(i), graph,
                            random_leaves(graph, {}, random)));
  }
  for (const auto& [name, graph] : small_models()) {
    HOCKET_TRY(graph);
    const LeafNumbers kind{.most = kVocabulary, .deviation = kWeightDeviation};
    HOCKET_TRY(writer.write(prefix + name, *graph, random_leaves(*graph, kind, random)));
  }
  return {};
}

}  // namespace
}  // namespace hocket

int main(int count, char** words) {
  using namespace hocket;
  if (count < 3) {
    std::cerr << "autograd_graphs FOLDER SEED…\n";
    return 2;
  }
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (has_derivative(kind)) std::cout << "kind " << to_string(kind) << '\n';
  }
  const GraphWriter writer(words[1]);
  for (int i = 2; i < count; ++i) {
    const auto done = write_seed(writer, std::strtoull(words[i], nullptr, 10));
    if (done) continue;
    std::cerr << "seed " << words[i] << ": " << done.error().message << '\n';
    return 1;
  }
  return 0;
}
