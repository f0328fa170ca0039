#pragma once

// Compares what two graphs compute in exact numbers (core/graph/interpreter/interpreter.h), for
// tests of passes: what a pass returns has the same outputs, bit for bit, for any inputs and
// parameters. One thread.
//
//   expect_same(graph, fused(graph), seed);

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/interpreter/interpreter.h"

namespace hocket {

inline void PrintTo(Residue residue, std::ostream* out) {
  *out << residue.whole();
}

/// The whole numbers from `least` to `most`.
struct WholeRange {
  std::int64_t least = std::numeric_limits<std::int32_t>::min();
  std::int64_t most = std::numeric_limits<std::int32_t>::max();

  WholeRange within(const WholeRange& other) const {
    return {std::max(least, other.least), std::min(most, other.most)};
  }
};

/// Ranges of the whole numbers of inputs and parameters, by name.
using WholeRanges = std::map<std::string, WholeRange, std::less<>>;

/// Returns which numbers an operation takes as an operand of int32.
inline WholeRange range_of_operand(const Graph& graph, const Operation& operation, std::size_t i) {
  using Kind = OperationKind;
  const auto size = [&](std::size_t operand, std::size_t dimension) {
    return graph.type(operation.operands[operand]).shape[dimension];
  };
  const auto below = [](std::int64_t end) { return WholeRange{0, end - 1}; };
  const auto slot = [&](std::size_t slots, std::size_t experts) {
    return i == experts ? below(size(slots, 0)) : WholeRange{-1, size(slots, 1) - 1};
  };
  switch (operation.kind) {
    case Kind::embedding:
      return below(size(0, 0));
    case Kind::embedding_gradient:
      return below(operation.attributes.integer("rows"));
    case Kind::cross_entropy:
    case Kind::cross_entropy_gradient:
      return below(graph.type(operation.operands[0]).shape.back());
    case Kind::top_k_gradient:
      return below(operation.attributes.integer("size"));
    case Kind::dispatch:
      return below(operation.attributes.integer("expert_count"));
    case Kind::dispatch_gradient:
      return slot(2, 0);
    case Kind::combine:
    case Kind::combine_gradient:
      return slot(0, 1);
    case Kind::adamw:
      return {1, 1000};
    default:
      return {};
  }
}

/// Returns for each value which whole numbers its uses take, also those after their layout is
/// changed.
inline std::vector<WholeRange> used_ranges(const Graph& graph) {
  const auto is_whole = [&](ValueId value) { return !is_floating(graph.type(value).numbers); };
  std::vector<WholeRange> ranges(graph.values());
  for (std::size_t at = graph.operations().size(); at-- > 0;) {
    const Operation& operation = graph.operations()[at];
    const bool keeps_numbers =
        operation.kind >= OperationKind::reshape && operation.kind <= OperationKind::broadcast;
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      if (!is_whole(operation.operands[i])) continue;
      WholeRange& range = ranges[operation.operands[i].index];
      range = range.within(keeps_numbers ? ranges[operation.first_result.index]
                                         : range_of_operand(graph, operation, i));
    }
  }
  return ranges;
}

/// Returns random numbers for all inputs and parameters of a graph. They depend on the seed and the
/// leaf's name, so that two graphs get the same. Those of int32 are in the range that `ranges`
/// says, or else in the one that their uses take.
inline ResidueLeaves random_residues(const Graph& graph, std::uint64_t seed,
                                     const WholeRanges& ranges = {}) {
  const std::vector<WholeRange> used = used_ranges(graph);
  ResidueLeaves leaves;
  for (const Operation& operation : graph.operations()) {
    if (operation.name.empty()) continue;
    std::vector<std::uint64_t> words(operation.name.begin(), operation.name.end());
    words.insert(words.end(), {seed & 0xffffffff, seed >> 32});
    std::seed_seq sequence(words.begin(), words.end());
    std::mt19937_64 random(sequence);
    const auto given = ranges.find(operation.name);
    const WholeRange range =
        given == ranges.end() ? used[operation.first_result.index] : given->second;
    std::uniform_int_distribution<std::int64_t> whole(range.least, range.most);
    Residues numbers{graph.type(operation.first_result), {}};
    for (std::int64_t i = 0; i < numbers.type.count(); ++i) {
      numbers.values.push_back(is_floating(numbers.type.numbers)
                                   ? Residue::of_word(random())
                                   : Residue(static_cast<double>(whole(random))));
    }
    leaves.emplace(operation.name, std::move(numbers));
  }
  return leaves;
}

/// Carries out a graph, of which a test requires that it succeeds, and returns its outputs by name.
inline ResidueLeaves exact_outputs(const Graph& graph, const ResidueLeaves& leaves) {
  const auto values = interpret_exactly(graph, leaves);
  if (!values) {
    ADD_FAILURE() << values.error().message;
    return {};
  }
  ResidueLeaves outputs;
  for (std::size_t i = 0; i < values->size(); ++i)
    outputs.emplace(graph.outputs()[i].name, (*values)[i]);
  return outputs;
}

/// Returns the first difference between numbers of two graphs, or "". Number types may differ.
inline std::string difference_of(std::string_view name, const Residues& before,
                                 const Residues& after) {
  const std::string words = "\"" + std::string(name) + "\" ";
  if (before.type.shape != after.type.shape)
    return words + "is " + to_string(before.type) + " before and " + to_string(after.type);
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    if (before.values[i] == after.values[i]) continue;
    return words + "differs from place " + std::to_string(i) + " on, " +
           std::to_string(before.values[i].whole()) + " before and " +
           std::to_string(after.values[i].whole());
  }
  return "";
}

/// Returns the first difference between the outputs that two graphs both have, or "". Inputs and
/// parameters of the same name have the same numbers.
inline std::string difference(const Graph& before, const Graph& after, std::uint64_t seed,
                              const WholeRanges& ranges = {}) {
  const ResidueLeaves leaves = random_residues(before, seed, ranges);
  ResidueLeaves leaves_after = random_residues(after, seed, ranges);
  for (auto& [name, numbers] : leaves_after) {
    const auto same = leaves.find(name);
    if (same == leaves.end()) continue;
    if (same->second.values.size() != numbers.values.size())
      return difference_of(name, same->second, numbers);
    numbers.values = same->second.values;
  }
  const ResidueLeaves outputs = exact_outputs(before, leaves);
  bool has_common = false;
  for (const auto& [name, numbers] : exact_outputs(after, leaves_after)) {
    const auto same = outputs.find(name);
    if (same == outputs.end()) continue;
    has_common = true;
    if (auto found = difference_of(name, same->second, numbers); !found.empty()) return found;
  }
  return has_common ? "" : "the graphs have no output of the same name";
}

inline void expect_same(const Graph& before, const Graph& after, std::uint64_t seed,
                        const WholeRanges& ranges = {}) {
  EXPECT_EQ(difference(before, after, seed, ranges), "") << "seed " << seed;
}

inline void expect_different(const Graph& before, const Graph& after, std::uint64_t seed,
                             const WholeRanges& ranges = {}) {
  EXPECT_NE(difference(before, after, seed, ranges), "") << "seed " << seed;
}

}  // namespace hocket
