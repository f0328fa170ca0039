#pragma once

// Small models with numbers that are a formula, which is as simple to write in another language.
// One thread.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/derivative.h"
#include "core/graph/graph_text.h"
#include "core/graph/interpreter/interpreter.h"

namespace hocket {

/// Returns the graph, of which a test requires that it is built.
inline Graph built(Result<Graph> graph) {
  if (graph) return std::move(*graph);
  ADD_FAILURE() << graph.error().message;
  return {};
}

/// Returns the message of an error; "" where there is none.
template <class T>
std::string said(const Result<T>& result) {
  return result ? "" : result.error().message;
}

inline std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Operation& operation : graph.operations())
    if (operation.kind == OperationKind::parameter)
      count += graph.type(operation.first_result).count();
  return count;
}

inline std::set<std::string> regions_of(const Graph& graph) {
  std::set<std::string> regions;
  for (const Operation& operation : graph.operations()) regions.insert(operation.region);
  return regions;
}

/// Number i of parameter number k is 0.3 · sin(1.7 · i + k), to which those of norms' weights add
/// 1. Tokens are 7 · i + 3, and targets 5 · i + 1, modulo the vocabulary.
inline Leaves formula_leaves(const Graph& graph, std::int64_t vocabulary) {
  Leaves leaves;
  double parameter = 0;
  for (const Operation& operation : graph.operations()) {
    if (operation.name.empty()) continue;
    Numbers numbers{graph.type(operation.first_result), {}};
    const bool is_parameter = operation.kind == OperationKind::parameter;
    const double middle = operation.name.ends_with("norm.weight") ? 1 : 0;
    const std::int64_t step = operation.name == "tokens" ? 7 : 5;
    const std::int64_t begin = operation.name == "tokens" ? 3 : 1;
    for (std::int64_t i = 0; i < numbers.type.count(); ++i) {
      const auto place = static_cast<double>(i);
      numbers.values.push_back(is_parameter ? middle + 0.3 * std::sin(1.7 * place + parameter)
                                            : static_cast<double>((step * i + begin) % vocabulary));
    }
    if (is_parameter) ++parameter;
    leaves.emplace(operation.name, std::move(numbers));
  }
  return leaves;
}

/// Returns the output of this name, of which a test requires that it is computed.
inline Numbers computed(const Graph& graph, const Leaves& leaves, std::string_view output) {
  const auto results = interpret(graph, leaves);
  EXPECT_TRUE(results) << results.error().message;
  if (!results) return {};
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i].name == output) return (*results)[i];
  ADD_FAILURE() << "there is no output " << output;
  return {};
}

/// Numbers that tests/models/transformers/fixed_cases.py prints.
struct TheirNumbers {
  double loss;
  std::vector<double> first, last;  ///< logits
};

inline void expect_numbers(const Graph& graph, const Leaves& leaves, const TheirNumbers& theirs,
                           double tolerance) {
  EXPECT_NEAR(computed(graph, leaves, "loss").values.at(0), theirs.loss, tolerance);
  const std::vector<double> logits = computed(graph, leaves, "logits").values;
  for (std::size_t i = 0; i < theirs.first.size(); ++i) {
    EXPECT_NEAR(logits.at(i), theirs.first[i], tolerance) << i;
    const std::size_t behind = theirs.last.size() - i;
    EXPECT_NEAR(logits.at(logits.size() - behind), theirs.last[i], tolerance) << -behind;
  }
}

/// Fails unless the model's gradient of some parameters is the slope of its loss. Every parameter
/// must have a gradient that is not 0 everywhere.
inline void expect_gradients(const Graph& graph, Leaves leaves) {
  const Graph derived = built(differentiate(graph));
  const auto results = interpret(derived, leaves);
  ASSERT_TRUE(results) << results.error().message;
  constexpr double kStep = 1e-5;
  for (std::size_t i = graph.outputs().size(); i < derived.outputs().size(); ++i) {
    const std::string name = derived.outputs()[i].name.substr(gradient_name("").size());
    const std::vector<double>& gradient = (*results)[i].values;
    const auto steepest =
        std::ranges::max_element(gradient, {}, [](double each) { return std::abs(each); });
    EXPECT_NE(*steepest, 0) << name;
    double& number =
        leaves.find(name)->second.values[static_cast<std::size_t>(steepest - gradient.begin())];
    const double before = number;
    number = before + kStep;
    const double above = computed(graph, leaves, "loss").values[0];
    number = before - kStep;
    const double below = computed(graph, leaves, "loss").values[0];
    number = before;
    EXPECT_NEAR((above - below) / (2 * kStep), *steepest, 1e-6 * (1 + std::abs(*steepest))) << name;
  }
}

}  // namespace hocket
